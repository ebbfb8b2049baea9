// Traces from JSON: a list, or one object after another, of which one is in memory at a time.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "store/trace_reader.h"

namespace kw::store {

Result<std::unique_ptr<TraceReader>> read_json_traces(const std::filesystem::path& path);

}  // namespace kw::store
