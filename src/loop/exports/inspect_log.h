// Writes traces as a log of inspect_ai: a ZIP archive with a member for each sample, read one at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/core/result.h"
#include "loop/run_store/run_reader.h"

namespace kw::exports {

struct InspectOptions {
  std::string task_name;  // of the log
  std::string program_version;
};

struct Exported {
  std::size_t traces = 0;       // that were written
  std::size_t not_ended = 0;    // of the run, and not written
  std::size_t without_any = 0;  // traces with neither a prompt nor an answer: not written
};

// One trace and the list of samples on disk; memory holds a trace, and a line for each task. Equal traces
// give equal bytes. Writes nothing if there is no trace.
Result<Exported> write_inspect_log(store::TraceReader& reader, const std::filesystem::path& path,
                                   const InspectOptions& options);

// Whether write_inspect_log() wrote this file: its first member says so.
bool is_inspect_log(const std::filesystem::path& path);

}  // namespace kw::exports
