// Traces as JSON files: reads a list or consecutive objects, with one trace in memory at a time, and writes
// the recorded form with additional fields.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "base/async/loop.h"
#include "base/core/result.h"
#include "base/core/words.h"
#include "loop/run_store/run_reader.h"

namespace kw::store {

// Reads traces from JSON: a list, or consecutive objects, with one trace in memory at a time.
Result<std::unique_ptr<TraceReader>> read_json_traces(const std::filesystem::path& path);

// The content of an existing file, by its first object: `none` for a missing or empty file and an empty list,
// `traces` and `rows` as write_traces and write_training write them. Recorded traces of another program are
// `foreign`.
enum class FileContent { none, traces, rows, foreign };
FileContent content_of(const std::filesystem::path& path);

class RunStore;

// Writes the traces of a run as files: the recorded form with additional fields.
BOOST_DEFINE_ENUM_CLASS(Form, single, multi)

struct Written {
  std::size_t traces = 0;  // with at least one answer
  std::size_t failed = 0;  // without a turn that is correct and counts
};

// Writes a JSON list, one trace per line, and a second file of failed traces in the same form: traces.json,
// traces_failed.json. Writes temporary files and renames them, with one trace in memory at a time.
Result<Written> write_traces(TraceReader& reader, const std::filesystem::path& path, Form form);

// "traces.json" → "traces_failed.json".
std::filesystem::path failed_path(const std::filesystem::path& path);

// The same for the ended traces of a running run, on a separate thread. Calls during a write share the next
// write.
async::Task<Result<>> save_traces(RunStore& store, std::filesystem::path path, Form form);

}  // namespace kw::store
