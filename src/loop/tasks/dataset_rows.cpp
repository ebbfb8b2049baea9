// Rows of a data set that `kernelwright dataset` wrote: a PyTorch reference in the prompt, a kernel in the
// completion.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <optional>

#include "base/core/json.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "code/syntax/outline.h"
#include "loop/tasks/entries.h"
#include "loop/tasks/readers.h"
#include "types/job.h"

namespace kw {
namespace json = boost::json;
namespace {

constexpr std::string_view of_traces = "trace";
constexpr std::string_view of_pairs = "torch2triton";
constexpr std::size_t id_digits = 12;

// The parts of a prompt of `run`, as user_turn() in loop/refine writes them.
constexpr std::string_view reference_heading = "The reference:\n\n";
constexpr std::string_view entry_heading = "\nIts entry point is `";
constexpr std::string_view inputs_heading = "\nIt is called with these inputs:\n";
constexpr std::string_view request_heading = "\nWrite the Triton module that replaces it, with `";

// What follows `head` at the beginning of the text.
std::optional<std::string_view> text_after(std::string_view text, std::string_view head) {
  if (!text.starts_with(head)) return {};
  return text.substr(head.size());
}

struct Fenced {
  std::string_view code;
  std::string_view rest;
};

// The code in the fence at the beginning of the text. Its backticks are more than any run of them in the
// code.
std::optional<Fenced> python_fence(std::string_view text) {
  const std::string_view fence = text.substr(0, std::min(text.find_first_not_of('`'), text.size()));
  auto code = text_after(text.substr(fence.size()), "python\n");
  if (fence.size() < 3 || !code) return {};
  const std::size_t end = code->find(fence);
  if (end == std::string_view::npos || (end > 0 && (*code)[end - 1] != '\n')) return {};
  auto rest = text_after(code->substr(end + fence.size()), "\n");
  if (!rest) return {};
  return Fenced{code->substr(0, end), *rest};
}

// {"x": {"shape": [64, 250], "dtype": "float32"}} of "- x: float32 [64, 250]".
std::optional<std::pair<std::string_view, json::object>> shown_input(std::string_view line) {
  auto words = text_after(line, "- ");
  if (!words) return {};
  const std::size_t name_end = words->find(": ");
  if (name_end == std::string_view::npos) return {};
  std::string_view type = words->substr(name_end + 2);
  const std::size_t type_end = type.find(' ');
  if (type_end == std::string_view::npos) return {};
  auto shape = parse_json(type.substr(type_end + 1));
  if (!shape) return {};
  return std::pair(words->substr(0, name_end),
                   json::object{{"shape", std::move(*shape)}, {"dtype", type.substr(0, type_end)}});
}

// The input shapes that a prompt shows: a line for each, or their JSON, where their form was unknown.
std::string shown_shapes(std::string_view text) {
  json::object shapes;
  for (std::size_t at = 0; at < text.size(); at = after_line(text, at)) {
    auto input = shown_input(line_at(text, at));
    if (!input) return std::string(trim(text));
    shapes[input->first] = std::move(input->second);
  }
  return json::serialize(shapes);
}

// The fields of row_task() that the first prompt of a conversation shows.
std::optional<json::object> shown_task(std::string_view prompt) {
  for (std::size_t at = prompt.find(reference_heading); at != std::string_view::npos;
       at = prompt.find(reference_heading, at + 1)) {
    auto fenced = python_fence(prompt.substr(at + reference_heading.size()));
    if (!fenced || (at > 0 && prompt[at - 1] != '\n')) continue;
    const std::size_t end = fenced->rest.find(request_heading);
    if (end == std::string_view::npos) continue;
    json::object fields{{"reference_code", fenced->code}};
    std::string_view about = fenced->rest.substr(0, end);
    if (auto entry = text_after(about, entry_heading)) {
      fields["entry_point"] = entry->substr(0, entry->find('`'));
      about = entry->substr(std::min(entry->find('\n'), entry->size()));
      about = text_after(about, "\n").value_or(about);
    }
    if (auto inputs = text_after(about, inputs_heading)) fields["input_shapes"] = shown_shapes(*inputs);
    return fields;
  }
  return {};
}

// A field of the row's origin: a column "source_path" of Parquet, {"source": {"path": ...}} of JSON lines.
std::string source_field(const json::object& row, std::string_view name) {
  if (auto column = string_at(row, fmt::format("source_{}", name))) return *column;
  const json::value* source = row.if_contains("source");
  return source && source->is_object() ? string_at(source->get_object(), name).value_or("") : "";
}

std::string licence_in(const json::object& row) {
  const json::value* licence = row.if_contains("licence");
  if (licence && licence->is_object()) return string_at(licence->get_object(), "spdx").value_or("");
  return string_at(row, "licence").value_or("");
}

// The verdict of a trace's turn: JSON, or its text in Parquet. A right answer that does not count is none.
std::optional<RecordedResult> verdict_in(const json::object& row) {
  const json::value* value = row.if_contains("verdict");
  if (!value) return {};
  auto parsed = value->is_string() ? parse_json(value->get_string()) : Result<json::value>(*value);
  if (!parsed || !parsed->is_object()) return {};
  const json::object& verdict = parsed->get_object();
  auto correctness = bool_at(verdict, "correctness");
  if (!correctness || bool_at(verdict, "counts") == false) return {};
  return RecordedResult{*correctness, number_at(verdict, "speedup"), ""};
}

// The unit of a row is the last definition of its text, after those that it needs.
std::string last_callable(std::string_view code) {
  const std::vector<Definition> all = outline(code);
  auto found = std::find_if(all.rbegin(), all.rend(), [](const Definition& each) {
    return each.kind != Definition::Kind::kernel && !is_one_of(each.name, {"get_inputs", "get_init_inputs"});
  });
  return found == all.rend() ? "" : found->name;
}

Result<Task> finished(const json::object& row, const json::object& fields) {
  auto task = row_task(fields, required_string(fields, "reference_code"), "dataset");
  if (!task) return task;
  task->licence = licence_in(row);
  task->repo = source_field(row, "url");
  if (auto good = check_shape_names(*task, "input_shapes"); !good) return std::unexpected(good.error());
  return task;
}

Result<Task> trace_task_of(const json::object& row, std::string_view prompt) {
  auto fields = shown_task(prompt);
  if (!fields)
    return fail("the prompt shows no reference in the form of `kernelwright run`",
                "give the run that the row was made of");
  const std::string id = source_field(row, "path");
  (*fields)["task_id"] = id;
  (*fields)["sample_key"] = id;
  (*fields)["name"] = id.substr(id.rfind('/') + 1);
  return finished(row, *fields);
}

Result<Task> pair_task_of(const json::object& row, std::string_view prompt) {
  const std::size_t at = prompt.find("\n\n```");
  auto fenced = at == std::string_view::npos ? std::nullopt : python_fence(prompt.substr(at + 2));
  if (!fenced) return fail("the prompt has no code in a fence marked python", "give rows of a data set");
  const json::value* shapes = row.if_contains("input_shapes");
  if ((!shapes || shapes->is_null()) && !fenced->code.contains("get_inputs"))
    return fail("the row does not say what the inputs of its reference are",
                R"(add the field "input_shapes": {"x": {"shape": [64, 250], "dtype": "float32"}})");
  const std::string entry = last_callable(fenced->code);
  json::object fields{{"reference_code", fenced->code}, {"entry_point", entry}, {"name", entry}};
  if (shapes) fields["input_shapes"] = *shapes;
  fields["sample_key"] = fmt::format("{}_{}", of_pairs, text_at(row, "id").value_or("").substr(0, id_digits));
  return finished(row, fields);
}

Result<Task> dataset_task(const json::object& row) {
  auto prompt = required_string(row, "prompt");
  if (!prompt) return std::unexpected(prompt.error());
  const std::string kind = string_at(row, "kind").value_or("");
  if (kind == of_traces) return trace_task_of(row, *prompt);
  if (kind == of_pairs) return pair_task_of(row, *prompt);
  return fail(fmt::format("a row of the kind \"{}\" has no PyTorch reference", to_plain_text(kind)),
              fmt::format("give the rows of {} or {}", of_traces, of_pairs));
}

Result<Job> dataset_job(Row& row, Occurrences& occurrences) {
  Job job;
  auto task = dataset_task(row.fields);
  if (!task) return std::unexpected(task.error());
  auto completion = required_string(row.fields, "completion");
  if (!completion) return std::unexpected(completion.error());
  job.task = std::move(*task);
  const std::string kind = string_at(row.fields, "kind").value_or("");
  const std::string row_id = text_at(row.fields, "id").value_or(fmt::format("{}", row.number));
  job.id = fmt::format("{}_{}", kind, row_id.substr(0, id_digits));
  if (std::size_t before = occurrences.next(job.id); before > 0) job.id += fmt::format("~{}", before + 1);
  if (kind == of_traces) {
    job.candidate.code = extract_code(*completion);
    job.recorded = verdict_in(row.fields);
  } else {
    job.candidate.code = std::move(*completion);
    job.candidate.entry = last_callable(job.candidate.code);
  }
  job.carried = {{"row_id", row_id}, {"kind", kind}};
  return job;
}

}  // namespace

bool has_dataset_kind(const json::object& row) {
  const std::string kind = string_at(row, "kind").value_or("");
  return kind == of_traces || kind == of_pairs;
}

SourcePtr dataset_source(std::unique_ptr<RowReader> rows, Wanted wanted) {
  if (wanted == Wanted::tasks)
    return row_source(std::move(rows), [](Row& row) { return task_alone(dataset_task(row.fields)); });
  return row_source(std::move(rows), [occurrences = Occurrences()](Row& row) mutable {
    return dataset_job(row, occurrences);
  });
}

std::string callable_solution(const Candidate& candidate) {
  if (candidate.entry.empty() || is_one_of(candidate.entry, {"triton_kernel_wrapper", "ModelNew"}))
    return candidate.code;
  return fmt::format("{}{}\n\ntriton_kernel_wrapper = {}\n", candidate.code,
                     candidate.code.ends_with('\n') ? "" : "\n", candidate.entry);
}

}  // namespace kw
