#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "schema/json.h"
#include "schema/trace.h"

namespace kw {
namespace json = boost::json;
namespace {

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(json::string(text));
}

json::value number_or_null(const std::optional<std::int64_t>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

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

json::object usage_json(const Usage& usage) {
  return {{"prompt_tokens", number_or_null(usage.prompt_tokens)},
          {"completion_tokens", number_or_null(usage.completion_tokens)},
          {"reasoning_tokens", number_or_null(usage.reasoning_tokens)}};
}

// The whole verdict, and before all else the fields that recorded results have.
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

// What was said before the code: the text up to its tag or fence.
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
          {"usage", usage_json(turn.usage)},
          {"finish_reason", text_or_null(turn.finish_reason)},
          {"generation_ms", turn.generation_ms},
          {"answered_at", text_or_null(turn.answered_at)}};
}

json::array turns_json(const Conversation& round) {
  json::array turns;
  for (const Turn& turn : round.turns) turns.push_back(turn_json(turn));
  return turns;
}

json::array messages_json(const std::vector<Message>& messages) {
  json::array array;
  for (const Message& message : messages)
    array.push_back(json::object{{"role", message.role}, {"content", message.content}});
  return array;
}

// As recorded: what the model saw before its last answer, which is the last turn's own.
json::array request_json(const Trace& trace, const Conversation& round) {
  std::vector<Message> messages = messages_of(trace, round);
  if (!messages.empty() && messages.back().role == "assistant") messages.pop_back();
  return messages_json(messages);
}

json::value stop_json(const Conversation& round) {
  return round.stop_reason ? text_or_null(to_string(*round.stop_reason)) : json::value(nullptr);
}

// The rounds that do not speak for the trace.
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
  row["usage"] = usage_json(turn.usage);
  row["finish_reason"] = text_or_null(turn.finish_reason);
  row["generation_ms"] = best ? json::value(turn.generation_ms) : json::value(nullptr);
  row["answered_at"] = text_or_null(turn.answered_at);
  row["stop_reason"] = stop_json(*round);
  row["error"] = text_or_null(round->error);
  row["prompt"] = messages_json(trace.prompt);
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

}  // namespace kw
