#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

#include "base/core/json.h"
#include "base/core/text.h"
#include "types/job.h"
#include "types/struct_json.h"
#include "types/trace.h"

namespace kw {
namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(Message, (), (role, content))
BOOST_DESCRIBE_STRUCT(Usage, (), (prompt_tokens, completion_tokens, reasoning_tokens))

namespace {

using struct_json::written;

// Levels and problem numbers are integers in recorded files; other names stay text.
json::value integer_or_text(const std::string& text) {
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool plain = error == std::errc() && end == text.data() + text.size() && std::to_string(number) == text;
  return plain ? json::value(number) : text_or_null(text);
}

json::value shapes_json(const std::string& text) {
  auto value = parse_json(text);
  return value ? std::move(*value) : text_or_null(text);
}

// The complete verdict; the fields of recorded results come first.
json::value result_json(const Turn& turn, std::initializer_list<std::string_view> first) {
  if (!turn.verdict) return nullptr;
  json::object whole = to_json(*turn.verdict);
  whole["timestamp"] = text_or_null(turn.judged_at);
  json::object result;
  for (std::string_view key : first) result.emplace(key, whole.at(key));
  for (auto& member : whole)
    if (!result.contains(member.key())) result.emplace(member.key(), std::move(member.value()));
  return result;
}

json::value turn_result(const Turn& turn) {
  return result_json(turn, {"kernel_name", "timestamp", "correctness", "speedup", "reference_time_ms",
                            "kernel_time_ms", "fast_0", "fast_1", "fast_2", "error"});
}

json::value single_result(const Turn& turn) {
  return result_json(turn, {"correctness", "speedup", "fast_0", "fast_1", "fast_2", "error"});
}

// The text before the code, up to its tag or fence.
std::string_view before_code(const Turn& turn) {
  std::string_view text = turn.completion;
  std::size_t tag = text.find("<triton>");
  if (tag != std::string_view::npos) return trim(text.substr(0, tag));
  if (turn.code.empty()) return trim(text);
  std::size_t code = text.find(trim(turn.code));
  if (code == std::string_view::npos) return trim(text);
  text = text.substr(0, code);
  std::size_t fence = text.rfind("```");
  bool opens_code = fence != std::string_view::npos && text.find('\n', fence) != std::string_view::npos &&
                    trim(text.substr(text.find('\n', fence))).empty();
  return trim(opens_code ? text.substr(0, fence) : text);
}

json::object turn_json(const Turn& turn) {
  return {{"turn", turn.turn},
          {"reasoning", text_or_null(turn.reasoning)},
          {"triton_code", text_or_null(turn.code)},
          {"full_completion", turn.completion},
          {"result", turn_result(turn)},
          {"feedback_given", text_or_null(turn.feedback)},
          {"model", text_or_null(turn.model)},
          {"usage", written(turn.usage)},
          {"finish_reason", text_or_null(turn.finish_reason)},
          {"generation_ms", turn.generation_ms},
          {"answered_at", text_or_null(turn.answered_at)}};
}

json::array turns_json(const Conversation& round) {
  json::array turns;
  for (const Turn& turn : round.turns) turns.push_back(turn_json(turn));
  return turns;
}

// As in recorded traces: the messages before the last answer, which the last turn contains.
json::value request_json(const Trace& trace, const Conversation& round) {
  std::vector<Message> messages = messages_of(trace, round);
  if (!messages.empty() && messages.back().role == "assistant") messages.pop_back();
  return written(messages);
}

json::value stop_json(const Conversation& round) {
  return round.stop_reason ? text_or_null(to_string(*round.stop_reason)) : json::value(nullptr);
}

// The rounds that do not represent the trace.
json::array other_rounds(const Trace& trace, const Conversation* shown) {
  json::array others;
  for (std::size_t i = 0; i < trace.rounds.size(); ++i) {
    const Conversation& round = trace.rounds[i];
    if (&round == shown) continue;
    others.push_back(json::object{{"round", i + 1},
                                  {"stop_reason", stop_json(round)},
                                  {"error", text_or_null(round.error)},
                                  {"turns", turns_json(round)}});
  }
  return others;
}

json::object head(const Trace& trace) {
  const Task& task = trace.task;
  return {{"sample_key", sample_key(task)},
          {"source", text_or_null(task.source)},
          {"level", integer_or_text(task.level)},
          {"name", text_or_null(task.name)},
          {"problem_id", integer_or_text(task.problem_id)},
          {"pytorch_code", task.reference_code}};
}

void add_ours(const Trace& trace, json::object& row) {
  const Task& task = trace.task;
  row["task_id"] = text_or_null(task.task_id);
  row["sample_number"] = trace.sample_number;
  row["entry_point"] = text_or_null(task.entry_point);
  row["input_shapes"] = shapes_json(task.input_shapes);
  row["licence"] = text_or_null(task.licence);
  row["repo"] = text_or_null(task.repo);
  row["sampling"] = trace.sampling;
}

}  // namespace

json::object single_turn_json(const Trace& trace) {
  const Conversation none;
  const Conversation* round = best_round(trace);
  if (!round) round = &none;
  const Turn* best = best_turn(*round);
  const Turn unanswered;
  const Turn& turn = best ? *best : unanswered;
  json::object row = head(trace);
  row["thinking"] = text_or_null(before_code(turn));
  row["model_reasoning"] = text_or_null(turn.reasoning);
  row["triton_code"] = text_or_null(turn.code);
  row["full_completion"] = best ? json::value(json::string(turn.completion)) : json::value(nullptr);
  row["result"] = single_result(turn);
  row["timestamp"] = text_or_null(trace.ended_at);
  add_ours(trace, row);
  row["model"] = text_or_null(turn.model);
  row["usage"] = written(turn.usage);
  row["finish_reason"] = text_or_null(turn.finish_reason);
  row["generation_ms"] = best ? json::value(turn.generation_ms) : json::value(nullptr);
  row["answered_at"] = text_or_null(turn.answered_at);
  row["stop_reason"] = stop_json(*round);
  row["error"] = text_or_null(round->error);
  row["prompt"] = written(trace.prompt);
  return row;
}

json::object multi_turn_json(const Trace& trace) {
  const Conversation none;
  const Conversation* shown = best_round(trace);
  const Conversation& round = shown ? *shown : none;
  const Turn* best = best_turn(round);
  json::object row = head(trace);
  row["num_turns"] = round.turns.size();
  row["stop_reason"] = stop_json(round);
  row["final_triton_code"] = best ? text_or_null(best->code) : json::value(nullptr);
  row["final_result"] = best ? turn_result(*best) : json::value(nullptr);
  row["turns"] = turns_json(round);
  row["full_messages"] = request_json(trace, round);
  row["timestamp"] = text_or_null(trace.ended_at);
  add_ours(trace, row);
  row["model"] = best ? text_or_null(best->model) : json::value(nullptr);
  row["error"] = text_or_null(round.error);
  row["final_turn"] = best ? json::value(best->turn) : json::value(nullptr);
  row["last_turn"] = best ? json::value(round.turns.back().turn) : json::value(nullptr);
  row["round"] = shown ? json::value(shown - trace.rounds.data() + 1) : json::value(nullptr);
  row["other_rounds"] = other_rounds(trace, shown);
  return row;
}

namespace json = boost::json;
namespace {

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

// The id for the task of a recorded row without one.
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

// The verdict of another evaluator, which compared numbers only; whether it counts is unknown.
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

// The common fields of a turn and of a single-turn row.
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
  round.stop_reason = from_string<StopReason>(text(row, "stop_reason"));
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
  // A trace without any sampling has no round.
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
  round.stop_reason = from_string<StopReason>(text(row, "stop_reason"));
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
