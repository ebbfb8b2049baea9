// The traces of a run as files: the recorded form, with our fields added.
#pragma once

#include <cstddef>
#include <filesystem>

#include "async/loop.h"
#include "base/result.h"
#include "store/trace_reader.h"

namespace kw::store {

class RunStore;

enum class Form { single_turn, multi_turn };

struct Written {
  std::size_t traces = 0;  // with at least one answer
  std::size_t failed = 0;  // without a turn that is correct and counts
};

// Writes a JSON list, one trace a line, and beside it those that failed, in the same form: traces.json,
// traces_failed.json. Both are written to neighbours and renamed, one trace in memory at a time.
Result<Written> write_traces(TraceReader& reader, const std::filesystem::path& path, Form form);

// "traces.json" → "traces_failed.json".
std::filesystem::path failed_path(const std::filesystem::path& path);

// The same, of the traces that have ended, from a run that goes on, beside the loop. While one is under way,
// further calls wait for the next, which serves them all.
async::Task<Result<>> save_traces(RunStore& store, std::filesystem::path path, Form form);

}  // namespace kw::store
