// What a verb needs of the machine before it can verify.
#pragma once

#include <memory>

#include "flags/correctness_flags.h"
#include "flags/engine_flags.h"
#include "flags/timing_flags.h"
#include "table/row_reader.h"
#include "verify/local_verifier.h"

namespace kw::app {

struct HostOptions {
  DeviceChoice device;
  std::string python;
  std::size_t jobs = 0;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  bool allow_unsandboxed = false;
  verify::Settings settings;
};

HostOptions host_options(const EngineFlags& engine, const CorrectnessFlags& correctness,
                         const TimingFlags& timing);

// The helper that reads Parquet runs under the Python that candidates run under.
ParquetHelper parquet_helper(const std::string& python);

// The local verifier's options for this machine; errors name what is missing and the remedy.
Result<verify::LocalVerifier::Options> on_this_host(const HostOptions& options);

}  // namespace kw::app
