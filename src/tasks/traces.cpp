#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <deque>

#include "extraction/extraction.h"
#include "schema/json.h"
#include "tasks/row_task.h"
#include "tasks/sources.h"

namespace kw {
namespace json = boost::json;
namespace {

// Fields of a trace that go along into the output.
constexpr std::string_view handed_on[] = {"sample_key", "source", "level", "name", "problem_id", "uuid"};

std::optional<RecordedResult> recorded_result(const json::object& completion) {
  const json::value* value = completion.if_contains("result");
  if (!value || !value->is_object()) return {};
  auto correctness = bool_at(value->get_object(), "correctness");
  if (!correctness) return {};
  return RecordedResult{*correctness, number_at(value->get_object(), "speedup"),
                        string_at(value->get_object(), "error").value_or("")};
}

// The code as the trace has it; where it has none, the code in the completion.
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

// "kernelbench_9" says what a trace without a source is.
std::string source_of(const json::object& trace) {
  if (auto source = string_at(trace, "source")) return *source;
  std::string key = string_at(trace, "sample_key").value_or("");
  for (std::string_view known : {"kernelbench", "kernelbook", "sample"})
    if (key.starts_with(fmt::format("{}_", known))) return std::string(known);
  return "trace";
}

class TraceSource : public JobSource {
 public:
  explicit TraceSource(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {}

  Result<std::optional<JobOrError>> next() override {
    while (ready_.empty()) {
      auto row = rows_->next();
      if (!row) return std::unexpected(row.error());
      if (!*row) return std::nullopt;
      if (auto* error = std::get_if<RowError>(&**row)) return std::move(*error);
      unfold(std::get<Row>(**row));
    }
    JobOrError next = std::move(ready_.front());
    ready_.pop_front();
    return next;
  }

 private:
  void add_error(const Row& row, const Error& error) {
    ready_.push_back(row_error(*rows_, row.number, error));
  }

  // One job for a single-turn trace, one a turn for others.
  void unfold(const Row& row) {
    auto key = required_string(row.fields, "sample_key");
    if (!key) return add_error(row, key.error());
    std::size_t before = keys_.next(*key);
    std::string id = before == 0 ? *key : fmt::format("{}~{}", *key, before + 1);
    auto task = trace_task(row.fields);
    if (!task) return add_error(row, task.error());
    const json::value* turns = row.fields.if_contains("turns");
    if (!turns || !turns->is_array()) return add_job(row, row.fields, id, {}, *task);
    std::size_t number = 0;
    for (const json::value& turn : turns->get_array()) {
      ++number;
      if (!turn.is_object()) {
        add_error(row, {fmt::format("turn {} is not a JSON object", number), ""});
        continue;
      }
      std::string name = text_at(turn.get_object(), "turn").value_or(fmt::format("{}", number));
      add_job(row, turn.get_object(), fmt::format("{}#{}", id, name), name, *task);
    }
  }

  void add_job(const Row& row, const json::object& completion, std::string id, const std::string& turn,
               const Task& task) {
    auto code = code_of(completion);
    if (!code)
      return add_error(row, {fmt::format("{} has neither \"triton_code\" nor \"full_completion\"", id),
                             "a recorded trace has at least one of them"});
    Job job;
    job.id = std::move(id);
    job.sample_number = occurrences_.next(task.task_id);
    job.task = task;
    job.candidate.code = std::move(*code);
    job.candidate.kernel_name = kernel_name_of(completion);
    for (std::string_view key : handed_on)
      if (const json::value* value = row.fields.if_contains(key); value && !value->is_null())
        job.carried[key] = *value;
    if (!turn.empty())
      job.carried["turn"] = completion.contains("turn") ? completion.at("turn") : json::value(turn);
    job.recorded = recorded_result(completion);
    ready_.emplace_back(std::move(job));
  }

  std::unique_ptr<RowReader> rows_;
  std::deque<JobOrError> ready_;
  Occurrences keys_;
  Occurrences occurrences_;
};

}  // namespace

Result<Task> trace_task(const json::object& trace) {
  Task task;
  auto reference = required_string(trace, "pytorch_code");
  if (!reference) return std::unexpected(reference.error());
  auto shapes = input_shapes_of(trace);
  if (!shapes) return std::unexpected(shapes.error());
  task.reference_code = std::move(*reference);
  task.input_shapes = std::move(*shapes);
  task.source = source_of(trace);
  task.level = text_at(trace, "level").value_or("");
  task.name = string_at(trace, "name").value_or("");
  task.entry_point = string_at(trace, "entry_point").value_or("");
  name_task(trace, task);
  add_provenance(trace, task);
  return task;
}

std::unique_ptr<JobSource> trace_source(std::unique_ptr<RowReader> rows) {
  return std::make_unique<TraceSource>(std::move(rows));
}

}  // namespace kw
