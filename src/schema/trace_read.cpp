#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "schema/candidate.h"
#include "schema/json.h"
#include "schema/trace.h"

namespace kw {
namespace json = boost::json;
namespace {

const json::object* object_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value ? value->if_object() : nullptr;
}

const json::array* array_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value ? value->if_array() : nullptr;
}

std::string text(const json::object& object, std::string_view key) {
  return text_at(object, key).value_or("");
}

std::optional<std::int64_t> integer_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_number()) return {};
  boost::system::error_code inexact;
  auto number = value->to_number<std::int64_t>(inexact);
  return inexact ? std::nullopt : std::optional(number);
}

std::size_t count_at(const json::object& object, std::string_view key, std::size_t otherwise) {
  auto number = integer_at(object, key);
  return number && *number >= 0 ? static_cast<std::size_t>(*number) : otherwise;
}

// A name for a task that a recorded row does not name.
std::string task_id_of(const Task& task) {
  std::string_view key = task.sample_key;
  if (task.source == "kernelbench" && !task.problem_id.empty())
    return kernelbench_task_id(task.level, task.problem_id);
  if (task.source == "kernelbook" && key.starts_with("kernelbook_"))
    return kernelbook_task_id(key.substr(11));
  if (task.source == "sample" && !task.name.empty()) return sample_task_id(task.name);
  return hashed_task_id(task.reference_code, task.input_shapes, task.entry_point);
}

std::string shapes_at(const json::object& row) {
  const json::value* value = row.if_contains("input_shapes");
  if (!value || value->is_null()) return {};
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

Task read_task(const json::object& row) {
  Task task;
  task.source = text(row, "source");
  task.level = text(row, "level");
  task.problem_id = text(row, "problem_id");
  task.sample_key = text(row, "sample_key");
  task.name = text(row, "name");
  task.reference_code = text(row, "pytorch_code");
  task.entry_point = text(row, "entry_point");
  task.input_shapes = shapes_at(row);
  task.licence = text(row, "licence");
  task.repo = text(row, "repo");
  task.task_id = text(row, "task_id");
  if (task.task_id.empty()) task.task_id = task_id_of(task);
  return task;
}

Usage read_usage(const json::object& row) {
  const json::object* usage = object_at(row, "usage");
  if (!usage) return {};
  return {integer_at(*usage, "prompt_tokens"), integer_at(*usage, "completion_tokens"),
          integer_at(*usage, "reasoning_tokens")};
}

// What another evaluator said: numerical, and whether it counts is not known.
Verdict recorded_verdict(const json::object& result, bool correct) {
  Verdict verdict;
  verdict.error = string_at(result, "error");
  verdict.status = correct ? Status::correct : verdict.error ? Status::failed : Status::incorrect;
  verdict.stage = Stage::done;
  verdict.kernel_name = string_at(result, "kernel_name");
  verdict.speedup = number_at(result, "speedup");
  verdict.reference_time_ms = number_at(result, "reference_time_ms");
  verdict.kernel_time_ms = number_at(result, "kernel_time_ms");
  if (!correct) verdict.fault = Fault::kernel;
  return verdict;
}

Result<> read_result(const json::object& row, const std::string& id, const Trace& trace, Turn& turn) {
  const json::object* result = object_at(row, "result");
  if (!result) return {};
  turn.judged_at = text(*result, "timestamp");
  if (result->contains("schema")) {
    auto verdict = verdict_from_json(*result);
    if (!verdict) return std::unexpected(verdict.error());
    turn.verdict = std::move(*verdict);
    return {};
  }
  auto correct = bool_at(*result, "correctness");
  if (!correct) return {};
  turn.verdict = recorded_verdict(*result, *correct);
  turn.verdict->id = id;
  turn.verdict->task_id = trace.task.task_id;
  turn.verdict->candidate_sha256 = candidate_sha256(turn.code);
  return {};
}

// The fields that a turn and a single-turn row have in common.
Result<Turn> read_turn(const json::object& row, const std::string& id, const Trace& trace) {
  Turn turn;
  turn.code = text(row, "triton_code");
  turn.completion = text(row, "full_completion");
  turn.model = text(row, "model");
  turn.finish_reason = text(row, "finish_reason");
  turn.usage = read_usage(row);
  turn.generation_ms = number_at(row, "generation_ms").value_or(0);
  turn.answered_at = text(row, "answered_at");
  if (auto read = read_result(row, id, trace, turn); !read) return std::unexpected(read.error());
  return turn;
}

Result<Conversation> read_round(const json::object& row, const Trace& trace) {
  Conversation round;
  round.stop_reason = stop_reason_from(text(row, "stop_reason"));
  round.error = text(row, "error");
  const json::array* turns = array_at(row, "turns");
  if (!turns) return fail("a trace's \"turns\" is not a list");
  for (const json::value& value : *turns) {
    std::size_t number = round.turns.size() + 1;
    if (!value.is_object()) return fail(fmt::format("turn {} is not a JSON object", number));
    const json::object& fields = value.get_object();
    auto turn = read_turn(fields, fmt::format("{}#{}", trace.task.sample_key, number), trace);
    if (!turn) return fail(fmt::format("turn {}: {}", number, turn.error().what));
    turn->turn = count_at(fields, "turn", number);
    turn->reasoning = text(fields, "reasoning");
    turn->feedback = text(fields, "feedback_given");
    round.turns.push_back(std::move(*turn));
  }
  return round;
}

std::vector<Message> read_prompt(const json::object& row, std::string_view key) {
  std::vector<Message> prompt;
  const json::array* messages = array_at(row, key);
  if (!messages) return prompt;
  for (const json::value& value : *messages) {
    if (!value.is_object() || text(value.get_object(), "role") == "assistant") break;
    prompt.push_back({text(value.get_object(), "role"), text(value.get_object(), "content")});
  }
  return prompt;
}

Result<> read_rounds(const json::object& row, Trace& trace) {
  auto shown = read_round(row, trace);
  if (!shown) return std::unexpected(shown.error());
  // A trace whose sampling had not begun has no round to show.
  if (const json::value* round = row.if_contains("round"); round && round->is_null()) return {};
  trace.rounds.push_back(std::move(*shown));
  const json::array* others = array_at(row, "other_rounds");
  if (!others) return {};
  for (const json::value& value : *others) {
    if (!value.is_object()) return fail("one of \"other_rounds\" is not a JSON object");
    auto other = read_round(value.get_object(), trace);
    if (!other) return std::unexpected(other.error());
    std::size_t place = count_at(value.get_object(), "round", trace.rounds.size() + 1);
    place = std::min(std::max<std::size_t>(place, 1) - 1, trace.rounds.size());
    trace.rounds.insert(trace.rounds.begin() + static_cast<std::ptrdiff_t>(place), std::move(*other));
  }
  return {};
}

Result<> read_single(const json::object& row, Trace& trace) {
  Conversation round;
  round.stop_reason = stop_reason_from(text(row, "stop_reason"));
  round.error = text(row, "error");
  if (string_at(row, "full_completion")) {
    auto turn = read_turn(row, trace.task.sample_key, trace);
    if (!turn) return std::unexpected(turn.error());
    turn->reasoning = text(row, "model_reasoning");
    round.turns.push_back(std::move(*turn));
  }
  trace.rounds.push_back(std::move(round));
  return {};
}

}  // namespace

Result<Trace> trace_from_json(const json::object& row) {
  if (!string_at(row, "pytorch_code"))
    return fail("a trace lacks \"pytorch_code\"", "name a file of recorded traces, or one that `run` wrote");
  Trace trace;
  trace.task = read_task(row);
  trace.sample_number = count_at(row, "sample_number", 0);
  trace.ended_at = text(row, "timestamp");
  if (const json::object* sampling = object_at(row, "sampling")) trace.sampling = *sampling;
  bool multi = row.contains("turns");
  trace.prompt = read_prompt(row, multi ? "full_messages" : "prompt");
  auto read = multi ? read_rounds(row, trace) : read_single(row, trace);
  if (!read) return fail(fmt::format("{}: {}", sample_key(trace.task), read.error().what));
  return trace;
}

}  // namespace kw
