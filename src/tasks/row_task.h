// What several sources do with the fields of a row.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/input_shapes.h"
#include "schema/task.h"
#include "table/row_reader.h"

namespace kw {

// A required string field: an error names it when it is absent, null or no string.
Result<std::string> required_string(const boost::json::object& row, std::string_view key);

// The field "input_shapes" as JSON text: an object, or a string that holds JSON; empty where absent or null.
Result<std::string> input_shapes_of(const boost::json::object& row);

// Sets task_id by the row's own "task_id", else by source, level, problem_id, uuid, name or sample_key, else
// by hash; also sample_key where the row has one, and problem_id of a KernelBench task. The rest of the task
// is filled in already.
void name_task(const boost::json::object& row, Task& task);

// licence and repository where the row has them, under the names in use.
void add_provenance(const boost::json::object& row, Task& task);

// The task of one row. A batch's paths are relative to its folder.
Result<Task> trace_task(const boost::json::object& row);
Result<Task> batch_task(const boost::json::object& row, const std::filesystem::path& folder);
Result<Task> kernelbook_task(const Row& row);

// The string at `code`, or the text of the file named at `path`; the code in it where it is a completion.
Result<std::string> code_or_path(const boost::json::object& row, std::string_view code, std::string_view path,
                                 const std::filesystem::path& folder);

RowError row_error(const RowReader& reader, std::size_t row, const Error& error);

}  // namespace kw
