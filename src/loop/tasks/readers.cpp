#include "loop/tasks/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <deque>
#include <filesystem>
#include <map>
#include <vector>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/standard_input.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "loop/tasks/entries.h"
#include "types/job.h"

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

// The field "input_shapes" as JSON text: an object, or a string of JSON; empty if absent or null.
Result<std::string> input_shapes_of(const json::object& row) {
  const json::value* value = row.if_contains("input_shapes");
  if (!value || value->is_null()) return std::string();
  std::string text = value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  if (text.empty()) return text;
  if (auto good = check_input_shapes(text); !good) return std::unexpected(good.error());
  return text;
}

// Sets sample_key, problem_id of a KernelBench task, and task_id. Requires all other fields of the task.
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

class RowSource : public Source {
 public:
  using Read = std::function<std::vector<Result<Job>>(Row&)>;

  RowSource(std::unique_ptr<RowReader> rows, Read read, bool one_a_row)
      : rows_(std::move(rows)), read_(std::move(read)), one_a_row_(one_a_row) {}
  std::optional<std::size_t> total() const override { return one_a_row_ ? rows_->total() : std::nullopt; }

  Result<std::optional<JobOrError>> next() override {
    while (ready_.empty()) {
      auto row = rows_->next();
      if (!row) return std::unexpected(row.error());
      if (!*row) return std::nullopt;
      if (auto* error = std::get_if<RowError>(&**row)) return std::move(*error);
      add(std::get<Row>(**row));
    }
    JobOrError next = std::move(ready_.front());
    ready_.pop_front();
    return next;
  }

 private:
  void add(Row& row) {
    for (Result<Job>& job : read_(row))
      if (job)
        ready_.emplace_back(with_origin(std::move(*job), row.number));
      else
        ready_.emplace_back(RowError{rows_->file(), row.number, job.error().what, job.error().remedy});
  }

  // Sources that the reader took from no other file are in the row itself.
  Job with_origin(Job job, std::size_t row) const {
    if (is_standard_input(rows_->file())) return job;
    const bool is_line = rows_->rows_are_lines();
    const Origin here{rows_->file(), is_line ? row : 0, is_line};
    if (job.candidate.origin.path.empty()) job.candidate.origin = here;
    if (job.task.origin.path.empty()) job.task.origin = here;
    return job;
  }

  std::unique_ptr<RowReader> rows_;
  Read read_;
  bool one_a_row_;
  std::deque<JobOrError> ready_;
};

}  // namespace

Origin origin_in(const std::string& path, std::string_view text, std::string_view source) {
  const std::size_t at = source.empty() ? std::string_view::npos : text.find(source);
  if (at == std::string_view::npos) return {path, 0, false};
  return {path, static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n')) + 1, false};
}

SourcePtr row_source(std::unique_ptr<RowReader> rows, std::function<Result<Job>(Row&)> read) {
  auto one = [read = std::move(read)](Row& row) {
    std::vector<Result<Job>> jobs;
    jobs.push_back(read(row));
    return jobs;
  };
  return number_occurrences(std::make_unique<RowSource>(std::move(rows), std::move(one), true));
}

SourcePtr rows_unfolded(std::unique_ptr<RowReader> rows,
                        std::function<std::vector<Result<Job>>(const Row&)> read) {
  return number_occurrences(std::make_unique<RowSource>(std::move(rows), std::move(read), false));
}

Result<Job> task_alone(Result<Task> task) {
  if (!task) return std::unexpected(task.error());
  if (trim(task->reference_code).empty())
    return fail("the reference is empty", "give its source, or leave the row out");
  Job job;
  job.task = std::move(*task);
  return job;
}

Result<std::string> required_string(const json::object& row, std::string_view key) {
  auto text = string_at(row, key);
  if (!text)
    return fail(fmt::format("the field \"{}\" is missing or not a string", key), "give it in every row");
  return *text;
}

Result<Task> row_task(const json::object& row, Result<std::string> reference, std::string source) {
  if (!reference) return std::unexpected(reference.error());
  auto shapes = input_shapes_of(row);
  if (!shapes) return std::unexpected(shapes.error());
  Task task;
  task.reference_code = std::move(*reference);
  task.input_shapes = std::move(*shapes);
  task.source = std::move(source);
  task.level = text_at(row, "level").value_or("");
  task.name = string_at(row, "name").value_or("");
  task.entry_point = string_at(row, "entry_point").value_or("");
  name_task(row, task);
  add_provenance(row, task);
  return task;
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

namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

// Fields that become part of task, candidate or verdict; others are carried through.
constexpr std::string_view ours[] = {"id",           "reference_code",  "reference_path", "kernel_code",
                                     "kernel_path",  "full_completion", "input_shapes",   "entry_point",
                                     "kernel_entry", "kernel_name",     "task_id"};

// `origin` is set if the source is in a file of its own.
Result<std::string> code_or_path(const json::object& row, std::string_view code, std::string_view path,
                                 const fs::path& folder, Origin& origin) {
  if (auto text = string_at(row, code)) return *text;
  auto name = string_at(row, path);
  if (!name)
    return fail(fmt::format("neither \"{}\" nor \"{}\" is given as a string", code, path),
                "give one of them");
  auto text = read_text_file(folder / *name, largest_source_bytes);
  if (!text)
    return fail(fmt::format("{}: {}", path, text.error().what),
                text.error().remedy.empty() ? "paths are relative to the batch file" : text.error().remedy);
  std::string source = is_completion_file(*name) ? extract_code(*text) : *text;
  origin = origin_in((folder / *name).string(), *text, source);
  return source;
}

class BatchRows {
 public:
  explicit BatchRows(fs::path folder) : folder_(std::move(folder)) {}

  Result<Job> operator()(Row& row) {
    Job job;
    auto id = new_id(row);
    if (!id) return std::unexpected(id.error());
    job.id = std::move(*id);
    auto task = batch_task(row.fields, folder_);
    if (!task) return std::unexpected(task.error());
    job.task = std::move(*task);
    auto code = read_kernel(row.fields, job.candidate.origin);
    if (!code) return std::unexpected(code.error());
    job.candidate.code = std::move(*code);
    job.candidate.kernel_name = string_at(row.fields, "kernel_name").value_or("");
    job.candidate.entry = string_at(row.fields, "kernel_entry").value_or("");
    if (auto named = name_entries(row.fields, job); !named) return std::unexpected(named.error());
    for (std::string_view key : ours) row.fields.erase(key);
    job.carried = std::move(row.fields);
    return job;
  }

 private:
  Result<std::string> new_id(const Row& row) {
    auto id = text_at(row.fields, "id");
    if (!id || id->empty()) return fail("the field \"id\" is missing", "give every row an id of its own");
    auto [first, is_new] = first_rows_.emplace(*id, row.number);
    if (!is_new)
      return fail(fmt::format("the id \"{}\" is that of row {} already", *id, first->second),
                  "give every row an id of its own");
    return *id;
  }

  // Two files are a pair, as in a folder of pairs: where no entry is recognised, the only one is meant.
  static Result<> name_entries(const json::object& row, Job& job) {
    const bool is_pair = !job.candidate.origin.path.empty() && !job.task.origin.path.empty();
    if (!is_pair || !job.candidate.entry.empty() || !job.task.entry_point.empty()) return {};
    const bool is_hashed = job.task.task_id == hashed_task_id(job.task.reference_code, job.task.input_shapes,
                                                              job.task.entry_point);
    PairNames names;
    names.is_completion = is_completion_file(string_at(row, "kernel_path").value_or(""));
    if (auto found = find_entries(job, names); !found) return found;
    if (is_hashed)
      job.task.task_id = hashed_task_id(job.task.reference_code, job.task.input_shapes, job.task.entry_point);
    return {};
  }

  Result<std::string> read_kernel(const json::object& row, Origin& origin) const {
    auto completion = string_at(row, "full_completion");
    bool has_code = string_at(row, "kernel_code") || string_at(row, "kernel_path");
    if (!has_code && completion) return extract_code(*completion);
    return code_or_path(row, "kernel_code", "kernel_path", folder_, origin);
  }

  fs::path folder_;
  std::map<std::string, std::size_t> first_rows_;
};

}  // namespace

Result<Task> batch_task(const json::object& row, const fs::path& folder) {
  Origin origin;
  auto task = row_task(row, code_or_path(row, "reference_code", "reference_path", folder, origin),
                       string_at(row, "source").value_or("batch"));
  if (task) task->origin = std::move(origin);
  return task;
}

SourcePtr batch_source(std::unique_ptr<RowReader> rows, Wanted wanted) {
  fs::path folder = fs::path(rows->file()).parent_path();
  if (wanted == Wanted::kernels) return row_source(std::move(rows), BatchRows(std::move(folder)));
  return row_source(std::move(rows), [folder = std::move(folder)](Row& row) {
    auto task = batch_task(row.fields, folder);
    if (task && task->sample_key.empty()) task->sample_key = text_at(row.fields, "id").value_or("");
    return task_alone(std::move(task));
  });
}

namespace {

Result<Task> kernelbook_task(const Row& row) {
  Task task;
  auto reference = required_string(row.fields, "python_code");
  if (!reference) return std::unexpected(reference.error());
  std::string uuid = text_at(row.fields, "uuid").value_or(fmt::format("{}", row.number));
  task.source = "kernelbook";
  task.task_id = kernelbook_task_id(uuid);
  task.sample_key = fmt::format("kernelbook_{}", uuid);
  task.reference_code = std::move(*reference);
  task.name = string_at(row.fields, "module_name").value_or("");
  task.entry_point = string_at(row.fields, "entry_point").value_or("");
  add_provenance(row.fields, task);
  return task;
}

Result<Job> kernelbook_job(const Row& row, Occurrences& occurrences) {
  Job job;
  auto task = kernelbook_task(row);
  if (!task) return std::unexpected(task.error());
  auto code = required_string(row.fields, "triton_code");
  if (!code) return std::unexpected(code.error());
  job.task = std::move(*task);
  job.id = job.task.sample_key;
  if (std::size_t before = occurrences.next(job.task.task_id); before > 0)
    job.id += fmt::format("~{}", before + 1);
  job.candidate.code = std::move(*code);
  return job;
}

}  // namespace

SourcePtr kernelbook_source(std::unique_ptr<RowReader> rows, Wanted wanted) {
  if (wanted == Wanted::tasks)
    return row_source(std::move(rows), [](Row& row) { return task_alone(kernelbook_task(row)); });
  return row_source(std::move(rows), [occurrences = Occurrences()](Row& row) mutable {
    return kernelbook_job(row, occurrences);
  });
}

namespace json = boost::json;
namespace {

// Fields of a trace that are carried into the output.
constexpr std::string_view handed_on[] = {"sample_key", "source", "level", "name", "problem_id", "uuid"};

std::optional<RecordedResult> recorded_result(const json::object& completion) {
  const json::value* value = completion.if_contains("result");
  if (!value || !value->is_object()) return {};
  auto correctness = bool_at(value->get_object(), "correctness");
  if (!correctness) return {};
  return RecordedResult{*correctness, number_at(value->get_object(), "speedup"),
                        string_at(value->get_object(), "error").value_or("")};
}

// The trace's own code, else the code in the completion.
std::optional<std::string> code_of(const json::object& completion) {
  if (auto code = string_at(completion, "triton_code"); code && !code->empty()) return code;
  if (auto text = string_at(completion, "full_completion")) return extract_code(*text);
  return {};
}

std::string kernel_name_of(const json::object& completion) {
  if (auto name = string_at(completion, "kernel_name")) return *name;
  const json::value* result = completion.if_contains("result");
  return result && result->is_object() ? string_at(result->get_object(), "kernel_name").value_or("") : "";
}

// A trace without a source has the one in its sample_key: "kernelbench_9".
std::string source_of(const json::object& trace) {
  if (auto source = string_at(trace, "source")) return *source;
  std::string key = string_at(trace, "sample_key").value_or("");
  for (std::string_view known : {"kernelbench", "kernelbook", "sample"})
    if (key.starts_with(fmt::format("{}_", known))) return std::string(known);
  return "trace";
}

Result<Task> trace_task(const json::object& trace) {
  return row_task(trace, required_string(trace, "pytorch_code"), source_of(trace));
}

// One job for a single-turn trace, one per turn for others.
class TraceRows {
 public:
  std::vector<Result<Job>> operator()(const Row& row) {
    auto key = required_string(row.fields, "sample_key");
    if (!key) return {std::unexpected(key.error())};
    std::size_t before = keys_.next(*key);
    std::string id = before == 0 ? *key : fmt::format("{}~{}", *key, before + 1);
    auto task = trace_task(row.fields);
    if (!task) return {std::unexpected(task.error())};
    const json::value* turns = row.fields.if_contains("turns");
    if (!turns || !turns->is_array()) return {job_of(row.fields, row.fields, id, {}, *task)};
    std::vector<Result<Job>> jobs;
    for (const json::value& turn : turns->get_array()) {
      std::string number = fmt::format("{}", jobs.size() + 1);
      if (!turn.is_object()) {
        jobs.push_back(fail(fmt::format("turn {} is not a JSON object", number)));
        continue;
      }
      std::string name = text_at(turn.get_object(), "turn").value_or(number);
      jobs.push_back(job_of(row.fields, turn.get_object(), fmt::format("{}#{}", id, name), name, *task));
    }
    return jobs;
  }

 private:
  // `turn` is empty for a single-turn trace, which is its own completion.
  static Result<Job> job_of(const json::object& trace, const json::object& completion, std::string id,
                            const std::string& turn, const Task& task) {
    auto code = code_of(completion);
    if (!code)
      return fail(fmt::format("{} has neither \"triton_code\" nor \"full_completion\"", id),
                  "a recorded trace has at least one of them");
    Job job;
    job.id = std::move(id);
    job.task = task;
    job.candidate.code = std::move(*code);
    job.candidate.kernel_name = kernel_name_of(completion);
    for (std::string_view key : handed_on)
      if (const json::value* value = trace.if_contains(key); value && !value->is_null())
        job.carried[key] = *value;
    if (!turn.empty())
      job.carried["turn"] = completion.contains("turn") ? completion.at("turn") : json::value(turn);
    job.recorded = recorded_result(completion);
    return job;
  }

  Occurrences keys_;
};

}  // namespace

SourcePtr trace_source(std::unique_ptr<RowReader> rows, Wanted wanted) {
  if (wanted == Wanted::kernels) return rows_unfolded(std::move(rows), TraceRows());
  return row_source(std::move(rows), [](Row& row) { return task_alone(trace_task(row.fields)); });
}

}  // namespace kw
