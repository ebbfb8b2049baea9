// The readers of each format but KernelBench, and the functions they share: from a row's fields to a task,
// and from rows to jobs. formats.h selects a reader by the path; flags of verify select one directly.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "loop/tasks/source.h"
#include "types/job.h"

namespace kw {

// One job per row, numbered by occurrence. An Error becomes a bad row.
SourcePtr row_source(std::unique_ptr<RowReader> rows, std::function<Result<Job>(Row&)> read);

// `read` returns any number of jobs per row, so the total is unknown.
SourcePtr rows_unfolded(std::unique_ptr<RowReader> rows,
                        std::function<std::vector<Result<Job>>(const Row&)> read);

// A job without a candidate; an empty reference is an error.
Result<Job> task_alone(Result<Task> task);

// A required string field. The error names the field if it is absent, null or no string.
Result<std::string> required_string(const boost::json::object& row, std::string_view key);

// The task of a row, with input_shapes, level, name, entry_point and sample_key from the row. Its task_id is
// the row's "task_id", else built from source, level, problem_id, uuid, name or sample_key, else a hash.
Result<Task> row_task(const boost::json::object& row, Result<std::string> reference, std::string source);

// Sets licence and repository from any of their common field names.
void add_provenance(const boost::json::object& row, Task& task);

// The task of a batch's row, whose paths are relative to the batch's folder.
Result<Task> batch_task(const boost::json::object& row, const std::filesystem::path& folder);

// The place of a source within a file's text: the source is the whole text, or the code of an answer.
Origin origin_in(const std::string& path, std::string_view text, std::string_view source);

// The maximum size of a source file.
inline constexpr std::size_t largest_source_bytes = std::size_t{16} << 20;

// Rows of id, reference_code or reference_path, kernel_code or kernel_path or full_completion, and optionally
// input_shapes, entry_point, kernel_entry, kernel_name, task_id, source, level, name, problem_id. Paths are
// relative to the file. If tasks are wanted, a row may lack an id, and the id replaces a missing sample_key.
SourcePtr batch_source(std::unique_ptr<RowReader> rows, Wanted wanted);

// Recorded traces, single- or multi-turn: one job per completion, or one per trace if tasks are wanted.
SourcePtr trace_source(std::unique_ptr<RowReader> rows, Wanted wanted);

// KernelBook rows: python_code is the reference, triton_code the candidate.
SourcePtr kernelbook_source(std::unique_ptr<RowReader> rows, Wanted wanted);

// Rows of a data set that `kernelwright dataset` wrote, as JSON lines or Parquet. `trace`: the task that the
// prompt shows and its verified answer. `torch2triton`: a reference and its kernel; its inputs are the row's
// "input_shapes", which a user adds, or its get_inputs. Rows of other kinds are bad rows.
SourcePtr dataset_source(std::unique_ptr<RowReader> rows, Wanted wanted);

// Whether the row's "kind" is one of these two.
bool has_dataset_kind(const boost::json::object& row);

// The candidate's code with an entry that needs no name: where it is called by another one, that is added.
std::string callable_solution(const Candidate& candidate);

// Flags of a pair in addition to its two files.
struct PairOptions {
  std::string input_shapes;
  std::string entry_point;
  std::string kernel_name;
  std::string kernel_entry = {};
};

// KERNEL is code, or a completion (.md, .txt). Either may be "-", standard input.
Result<Job> read_pair(const std::string& reference, const std::string& kernel, const PairOptions& options);

// Finds the entries of a pair that was read from these files, and checks the names of its input shapes. By
// hand: both files were named on the command line (PairNames::by_hand). `where` names the input shapes.
Result<> name_pair(Job& job, const std::string& reference, const std::string& kernel, bool by_hand,
                   const std::string& where);

// A folder of pairs: PREFIXreference.py, PREFIXkernel*.py (or .md, .txt), optionally PREFIXshapes.json, where
// PREFIX may be empty; also in its direct subfolders.
bool holds_pairs(const std::string& folder);
SourcePtr pair_source(const std::string& folder);

// One reference, NAME.py, as a job without a candidate. Its inputs are its own get_inputs, or those of
// NAME.shapes.json beside it (PREFIXshapes.json for PREFIXreference.py).
Result<Job> read_reference(const std::string& path);

// The references in a folder and its direct subfolders, by path. Skips other sources, and the kernels of
// PREFIXreference.py (PREFIXkernel*.py). sample_key is the path within the folder, without its extension.
bool holds_references(const std::string& folder);
SourcePtr reference_source(const std::string& folder);

}  // namespace kw
