// The trace files beside a run, and the rule for those that exist already.
#pragma once

#include <array>
#include <filesystem>

#include "base/core/result.h"
#include "options/shared_flags.h"

namespace kw::app {

// The file of --output, and that of the failed traces.
std::array<std::filesystem::path, 2> trace_files(const RunOutputFlags& output);

// Refuses a file that this program did not write. Traces whose run.db is gone could not be written again, so
// only a fresh run, which renames them, replaces them.
Result<> check_trace_files(const RunOutputFlags& output);

}  // namespace kw::app
