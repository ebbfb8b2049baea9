// What a verb needs of the machine before it can verify.
#pragma once

#include <memory>

#include "flags/engine_flags.h"
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

// The local verifier's options for this machine; errors name what is missing and the remedy.
Result<verify::LocalVerifier::Options> on_this_host(const HostOptions& options);

}  // namespace kw::app
