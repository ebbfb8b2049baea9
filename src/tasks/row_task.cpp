#include "tasks/row_task.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "schema/json.h"

namespace kw {
namespace json = boost::json;
namespace {

// "kernelbench_9" → "9" for the prefix "kernelbench".
std::string key_suffix(const json::object& row, std::string_view prefix) {
  std::string key = string_at(row, "sample_key").value_or("");
  std::string head = fmt::format("{}_", prefix);
  return key.starts_with(head) ? key.substr(head.size()) : "";
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts)
    if (!text.empty()) return text;
  return {};
}

}  // namespace

Result<std::string> required_string(const json::object& row, std::string_view key) {
  auto text = string_at(row, key);
  if (!text)
    return fail(fmt::format("the field \"{}\" is missing or not a string", key), "give it in every row");
  return *text;
}

Result<std::string> input_shapes_of(const json::object& row) {
  const json::value* value = row.if_contains("input_shapes");
  if (!value || value->is_null()) return std::string();
  std::string text = value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  if (text.empty()) return text;
  if (auto good = check_input_shapes(text); !good) return std::unexpected(good.error());
  return text;
}

void name_task(const json::object& row, Task& task) {
  task.sample_key = string_at(row, "sample_key").value_or("");
  std::string problem = first_of({text_at(row, "problem_id").value_or(""), key_suffix(row, "kernelbench")});
  std::string uuid = first_of({text_at(row, "uuid").value_or(""), key_suffix(row, "kernelbook")});
  std::string name = first_of({task.name, key_suffix(row, "sample")});
  if (task.source == "kernelbench") task.problem_id = problem;
  if (auto given = string_at(row, "task_id"); given && !given->empty())
    task.task_id = *given;
  else if (task.source == "kernelbench" && !problem.empty())
    task.task_id = kernelbench_task_id(task.level, problem);
  else if (task.source == "kernelbook" && !uuid.empty())
    task.task_id = kernelbook_task_id(uuid);
  else if (task.source == "sample" && !name.empty())
    task.task_id = sample_task_id(name);
  else
    task.task_id = hashed_task_id(task.reference_code, task.input_shapes, task.entry_point);
}

void add_provenance(const json::object& row, Task& task) {
  task.repo = first_of({string_at(row, "repo_link").value_or(""), string_at(row, "repo").value_or(""),
                        string_at(row, "repo_name").value_or("")});
  task.licence = first_of({string_at(row, "licence").value_or(""), string_at(row, "license").value_or(""),
                           string_at(row, "licenses").value_or("")});
  const json::value* list = row.if_contains("licenses");
  if (!list || !list->is_array()) return;
  for (const json::value& name : list->get_array())
    if (name.is_string()) task.licence += (task.licence.empty() ? "" : ", ") + std::string(name.get_string());
}

RowError row_error(const RowReader& reader, std::size_t row, const Error& error) {
  return {reader.file(), row, error.what, error.remedy};
}

}  // namespace kw
