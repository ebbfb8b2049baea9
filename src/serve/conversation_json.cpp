#include "serve/conversation_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "loop/refine/prompt.h"
#include "serve/evaluation_json.h"
#include "serve/routes.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_conversation_id = 128;
constexpr std::size_t longest_task_id = 1024;
constexpr std::size_t longest_word = 64;
constexpr std::int64_t most_turns = 100;
constexpr double highest_target = 1e6;
constexpr std::array conversation_fields{"id",      "task_id", "task_version", "turns",
                                         "options", "reward",  "prompt_style", "target_speedup"};
constexpr std::array turn_fields{"turn", "completion", "finish_reason", "wait_s"};

std::unexpected<ApiError> invalid_field(std::string_view field, std::string_view why) {
  return refuse({400, "invalid", fmt::format("{} {}", field, why), std::string(field)});
}

// Nothing is carried through, so an unknown field is a slip.
std::optional<ApiError> unknown_field(const json::object& fields, const auto& known) {
  for (const auto& [name, value] : fields)
    if (std::ranges::find(known, name) == known.end())
      return ApiError{400, "invalid",
                      fmt::format("\"{}\" is no field of this request: it takes {}",
                                  shorten(to_plain_text(name), longest_word), fmt::join(known, ", ")),
                      shorten(to_plain_text(name), longest_word)};
  return {};
}

Answered<std::string> short_text_of(const json::object& fields, std::string_view name, std::size_t longest) {
  const json::value* value = given(fields, name);
  if (!value) return std::string();
  if (!value->is_string()) return invalid_field(name, "is not a string");
  if (characters(value->get_string()) > longest)
    return invalid_field(name, fmt::format("is longer than {} characters", longest));
  return std::string(value->get_string());
}

// Also a word of a path, and of a log line.
Answered<std::string> conversation_id_of(const json::object& fields) {
  if (!given(fields, "id")) return new_id("conv-");
  auto id = short_text_of(fields, "id", longest_conversation_id);
  if (!id) return id;
  auto is_allowed = [](char c) { return is_word(c) || c == '-' || c == '.'; };
  if (id->empty() || !std::ranges::all_of(*id, is_allowed) || !is_word(id->front()))
    return invalid_field("id", fmt::format("is not 1 to {} letters, digits, \"_\", \"-\" and \".\", "
                                           "the first one a letter, a digit or \"_\"",
                                           longest_conversation_id));
  return id;
}

Answered<std::size_t> turn_limit_of(const json::object& fields) {
  const json::value* value = given(fields, "turns");
  if (!value) return refine::Settings().max_turns;
  auto number = integer_of(*value);
  if (!number || *number < 1 || *number > most_turns)
    return invalid_field("turns", fmt::format("is not a whole number from 1 to {}", most_turns));
  return static_cast<std::size_t>(*number);
}

Answered<double> target_of(const json::object& fields) {
  const json::value* value = given(fields, "target_speedup");
  if (!value) return refine::Settings().target_speedup;
  double number = value->is_number() ? value->to_number<double>() : 0;
  if (!(number > 0) || number > highest_target)
    return invalid_field("target_speedup", "is not a number above 0");
  return number;
}

json::object settings_json(const ConversationSettings& settings, const json::object& fields) {
  json::object all{{"turns", settings.loop.max_turns},
                   {"prompt_style", to_string(settings.loop.style)},
                   {"target_speedup", settings.loop.target_speedup}};
  for (std::string_view name : {"options", "reward"})
    if (const json::value* value = given(fields, name)) all[name] = *value;
  return all;
}

}  // namespace

Answered<refine::PromptStyle> read_prompt_style(const std::optional<std::string>& word) {
  if (!word || word->empty()) return refine::PromptStyle::wrapper;
  if (auto style = from_string<refine::PromptStyle>(*word)) return *style;
  return invalid_field("prompt_style", "is not wrapper or modelnew");
}

Answered<ConversationSettings> read_settings(const json::object& fields) {
  ConversationSettings settings;
  auto turns = turn_limit_of(fields);
  if (!turns) return refuse(std::move(turns.error()));
  auto target = target_of(fields);
  if (!target) return refuse(std::move(target.error()));
  auto word = short_text_of(fields, "prompt_style", longest_word);
  if (!word) return refuse(std::move(word.error()));
  auto style = read_prompt_style(*word);
  if (!style) return refuse(std::move(style.error()));
  if (const json::value* terms = given(fields, "reward")) {
    auto read = reward_terms_from_json(*terms);
    if (!read) return refuse({400, "invalid", read.error().what, "reward"});
    settings.reward = *read;
  }
  if (const json::value* options = given(fields, "options")) {
    if (auto good = read_options(*options); !good) return refuse(std::move(good.error()));
    settings.options = options->get_object();
  }
  settings.loop.multi_turn = *turns > 1;
  settings.loop.max_turns = *turns;
  settings.loop.target_speedup = *target;
  settings.loop.min_trust = settings.reward.min_trust;
  settings.loop.retry_failed = false;  // a client opens another conversation
  settings.loop.style = *style;
  settings.loop.gradients = bool_at(settings.options, "backward").value_or(false);
  settings.loop.system_prompt = refine::system_prompt_for(*style, settings.loop.gradients);
  return settings;
}

namespace {

// Stored with the conversation: its prompt asks for gradients, also where a later service judges none.
void ask_for_gradients(json::object& fields) {
  if (!given(fields, "options")) fields["options"] = json::object();
  if (json::object* options = fields["options"].if_object(); options && !options->contains("backward"))
    (*options)["backward"] = true;
}

}  // namespace

Answered<ConversationRequest> read_conversation(json::object fields, const FindTask& find_task,
                                                bool gradients) {
  if (auto unknown = unknown_field(fields, conversation_fields)) return refuse(std::move(*unknown));
  if (gradients) ask_for_gradients(fields);
  ConversationRequest request;
  auto id = conversation_id_of(fields);
  if (!id) return refuse(std::move(id.error()));
  request.id = std::move(*id);
  auto task_id = short_text_of(fields, "task_id", longest_task_id);
  if (!task_id) return refuse(std::move(task_id.error()));
  if (task_id->empty()) return invalid_field("task_id", "is missing");
  auto version = short_text_of(fields, "task_version", longest_task_id);
  if (!version) return refuse(std::move(version.error()));
  auto settings = read_settings(fields);
  if (!settings) return refuse(std::move(settings.error()));
  request.settings = std::move(*settings);
  auto task = find_task(*task_id, *version);
  if (!task) return refuse(std::move(task.error()));
  request.task = std::move(*task);
  json::object kept = settings_json(request.settings, fields);
  request.text = json::serialize(kept);
  request.digest = sha256_hex_of({*task_id, *version, canonical_json(kept)});
  return request;
}

Answered<TurnRequest> read_turn(const json::object& fields, double longest_wait_s) {
  if (auto unknown = unknown_field(fields, turn_fields)) return refuse(std::move(*unknown));
  TurnRequest request;
  const json::value* turn = given(fields, "turn");
  auto number = turn ? integer_of(*turn) : std::nullopt;
  if (!number || *number < 1 || *number > most_turns)
    return invalid_field("turn", fmt::format("is not a whole number from 1 to {}", most_turns));
  request.turn = static_cast<std::size_t>(*number);
  const json::value* completion = given(fields, "completion");
  if (!completion) return invalid_field("completion", "is missing");
  if (!completion->is_string()) return invalid_field("completion", "is not a string");
  request.completion = completion->get_string();
  auto reason = short_text_of(fields, "finish_reason", longest_word);
  if (!reason) return refuse(std::move(reason.error()));
  request.finish_reason = std::move(*reason);
  if (const json::value* wait = given(fields, "wait_s")) {
    request.wait_s = wait->is_number() ? wait->to_number<double>() : -1;
    if (!(request.wait_s >= 0) || request.wait_s > longest_wait_s)
      return invalid_field("wait_s", fmt::format("is not a number from 0 to {}", longest_wait_s));
  }
  return request;
}

namespace {

constexpr std::array short_fields{
    "status", "correctness", "counts",         "counts_reason",     "fault", "stage",  "error_class",
    "error",  "speedup",     "kernel_time_ms", "reference_time_ms", "trust", "shapes", "candidate_sha256"};

}  // namespace

json::object short_verdict(const Verdict& verdict) {
  json::object whole = to_json(verdict);
  json::object chosen;
  for (std::string_view name : short_fields)
    if (json::value* value = whole.if_contains(name)) chosen[name] = std::move(*value);
  return chosen;
}

json::array messages_json(const std::vector<Message>& messages) {
  json::array list;
  for (const Message& each : messages)
    list.push_back(json::object{{"role", each.role}, {"content", each.content}});
  return list;
}

Answered<LoadedConversation> LoadedConversation::of(ConversationRow row) {
  auto damaged = [&row] {
    return refuse({500, "store", fmt::format("the conversation \"{}\" is damaged in the store", row.id)});
  };
  auto task = read_pinned(row.task);
  auto fields = read_object(row.request);
  if (!task || !fields) return damaged();
  auto settings = read_settings(*fields);
  if (!settings) return damaged();
  return LoadedConversation{std::move(row), std::move(*task), std::move(*settings)};
}

namespace {

// What best_turn() compares.
std::optional<Verdict> short_verdict_of(const TurnRow& row) {
  if (!row.is_judged()) return {};
  Verdict verdict;
  auto value = parse_json(row.verdict);
  if (!value || !value->is_object()) return verdict;
  const json::object& fields = value->get_object();
  verdict.status = from_string<Status>(string_at(fields, "status").value_or("")).value_or(Status::error);
  verdict.counts = bool_at(fields, "counts");
  verdict.speedup = number_at(fields, "speedup");
  return verdict;
}

}  // namespace

refine::OpenTrace LoadedConversation::trace() const {
  refine::OpenTrace open;
  open.key.task_id = task->task.task_id;
  open.trace.task = task->task;
  open.trace.prompt = refine::opening_messages(task->task, settings.loop);
  Conversation& conversation = open.trace.rounds.emplace_back();
  for (const TurnRow& each : row.turns) {
    Turn turn;
    turn.turn = each.turn;
    turn.completion = each.completion;
    turn.finish_reason = each.finish_reason;
    turn.feedback = each.feedback;
    turn.verdict = short_verdict_of(each);
    conversation.turns.push_back(std::move(turn));
  }
  return open;
}

namespace {

std::string_view state_word(const ConversationRow& row) {
  return row.is_over() ? "ended" : row.is_judging() ? "judging" : "waiting";
}

json::value best_turn_json(const Conversation& conversation) {
  const Turn* best = best_turn(conversation);
  return best && best->verdict ? json::value(best->turn) : json::value(nullptr);
}

std::size_t judged_turns(const ConversationRow& row) {
  return row.turns.size() - (row.is_judging() ? 1 : 0);
}

// The messages that a model has not seen: the prompt, or the feedback on the last turn.
json::array observation_of(const LoadedConversation& it, const refine::OpenTrace& trace) {
  if (it.row.is_over()) return {};
  const std::size_t judged = judged_turns(it.row);
  if (judged == 0) return messages_json(trace.trace.prompt);
  return messages_json({{"user", it.row.turns[judged - 1].feedback}});
}

json::object state_json(const LoadedConversation& it, const refine::OpenTrace& trace) {
  const ConversationRow& row = it.row;
  const bool lacks_verdict = !row.is_over() && !row.why.empty();
  return {{"id", public_id(row.id)},
          {"state", state_word(row)},
          {"task_id", it.task->task.task_id},
          {"task_version", it.task->version},
          {"prompt_style", to_string(it.settings.loop.style)},
          {"turns", it.settings.loop.max_turns},
          {"turn", row.is_over() ? json::value(nullptr) : json::value(judged_turns(row) + 1)},
          {"observation", observation_of(it, trace)},
          {"done", row.is_over()},
          {"stop_reason", text_or_null(row.stop_reason)},
          {"why", row.is_over() ? text_or_null(row.why) : json::value(nullptr)},
          {"not_judged", lacks_verdict ? text_or_null(row.why) : json::value(nullptr)},
          {"best_turn", best_turn_json(trace.conversation())},
          {"opened_at", time_json(row.opened_at_ms)},
          {"expires_at", row.is_over() ? json::value(nullptr) : time_json(row.expires_at_ms)},
          {"ended_at", time_json(row.ended_at_ms)}};
}

json::object result_json(const TurnRow& row) {
  auto verdict = parse_json(row.verdict);
  return {{"turn", row.turn},
          {"judged", row.is_judged()},
          {"verdict", row.is_judged() && verdict ? *verdict : json::value(nullptr)},
          {"feedback", text_or_null(row.feedback)},
          {"reward", value_or_null(row.reward)},
          {"evaluation", text_or_null(row.evaluation)},
          {"sent_at", time_json(row.sent_at_ms)},
          {"judged_at", time_json(row.judged_at_ms)}};
}

}  // namespace

json::object conversation_json(const LoadedConversation& conversation) {
  return state_json(conversation, conversation.trace());
}

json::object whole_conversation_json(const LoadedConversation& conversation) {
  refine::OpenTrace trace = conversation.trace();
  json::object all = state_json(conversation, trace);
  all["messages"] = messages_json(messages_of(trace.trace, trace.conversation()));
  json::array& history = all["history"].emplace_array();
  for (const TurnRow& each : conversation.row.turns) history.push_back(result_json(each));
  return all;
}

json::object turn_json(const LoadedConversation& conversation, std::size_t turn) {
  json::object all = conversation_json(conversation);
  const auto& turns = conversation.row.turns;
  if (turn >= 1 && turn <= turns.size()) {
    all["result"] = result_json(turns[turn - 1]);
    return all;
  }
  TurnRow missing;
  missing.turn = turn;
  json::object result = result_json(missing);
  result["sent_at"] = nullptr;
  all["result"] = std::move(result);
  return all;
}

}  // namespace kw::service
