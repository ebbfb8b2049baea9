#include "loop/exports/inspect_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cmath>
#include <map>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "verify/explain/explanation.h"

namespace kw::exports {
namespace json = boost::json;
namespace {

constexpr std::size_t longest_id_bytes = 160;
constexpr std::size_t id_hash_digits = 8;
constexpr std::size_t uuid_digits = 22;
constexpr std::size_t summary_text_bytes = 1000;

bool is_safe_in_id(char c) {
  return is_letter_or_digit(c) || std::string_view("_-.:@+=~/#").contains(c);
}

bool has_safe_parts(std::string_view id) {
  while (true) {
    std::string_view part = id.substr(0, id.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == id.size()) return true;
    id.remove_prefix(part.size() + 1);
  }
}

json::value iso_or_null(const std::optional<Moment>& moment) {
  return moment ? json::value(to_text(*moment)) : json::value();
}

// The words of inspect_ai for the reasons of OpenAI's protocol.
std::string_view stop_reason_word(const std::string& finish_reason) {
  if (is_one_of(finish_reason, {"stop", "content_filter", "tool_calls"})) return finish_reason;
  return finish_reason == "length" ? "max_tokens" : "unknown";
}

constexpr std::int64_t kMostTokens = std::int64_t{1} << 53;  // JavaScript's numbers

std::int64_t token_count(std::int64_t said) {
  return std::clamp(said, std::int64_t{0}, kMostTokens);
}

json::value usage_json(const Usage& usage) {
  if (!usage.prompt_tokens && !usage.completion_tokens) return nullptr;
  auto in = token_count(usage.prompt_tokens.value_or(0));
  auto out = token_count(usage.completion_tokens.value_or(0));
  json::object object{{"input_tokens", in}, {"output_tokens", out}, {"total_tokens", in + out}};
  if (usage.reasoning_tokens) object["reasoning_tokens"] = *usage.reasoning_tokens;
  return object;
}

void add_usage(Usage& sum, const Usage& more) {
  auto add = [](std::optional<std::int64_t>& to, const std::optional<std::int64_t>& from) {
    if (from) to = token_count(to.value_or(0) + token_count(*from));
  };
  add(sum.prompt_tokens, more.prompt_tokens);
  add(sum.completion_tokens, more.completion_tokens);
  add(sum.reasoning_tokens, more.reasoning_tokens);
}

double seconds_of(const Turn& turn) {
  return std::isfinite(turn.generation_ms) && turn.generation_ms > 0 ? turn.generation_ms / 1000 : 0;
}

// inspect shows answers and explanations as Markdown: fenced, their lines and carets stay.
std::string fenced(std::string_view language, const std::string& text) {
  std::size_t longest = 2;
  for (std::size_t at = 0, run = 0; at < text.size(); ++at) {
    run = text[at] == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  std::string fence(longest + 1, '`');
  return fmt::format("{}{}\n{}\n{}", fence, language, text.substr(0, text.find_last_not_of('\n') + 1), fence);
}

std::string explanation_of(const Turn& turn, const Task& task) {
  return fenced(
      "text",
      explain::to_terminal(
          explain::explain(*turn.verdict, {.candidate = turn.code, .reference = task.reference_code}), {}));
}

json::value code_of(const Turn& turn) {
  return turn.code.empty() ? json::value() : json::value(fenced("python", turn.code));
}

json::object error_json(const std::string& message) {
  return {{"message", message}, {"traceback", ""}, {"traceback_ansi", ""}};
}

json::value score_value(std::string_view scorer, double value) {
  if (scorer == speedup_scorer) return value;
  return value > 0 ? "C" : "I";
}

json::object thin(const json::object& message) {
  json::object short_one = message;
  if (const json::string* text = message.at("content").if_string())
    short_one["content"] = shorten(*text, summary_text_bytes);
  return short_one;
}

// Makes the sample of one trace.
class Made {
 public:
  Made(const Trace& trace, const std::string& id, int epoch) : trace_(trace) {
    sample_.id = id;
    sample_.epoch = epoch;
    uuid_ = sha256_hex_of({trace.task.task_id, id, fmt::format("{}", epoch)}).substr(0, uuid_digits);
  }

  Sample make() {
    look_over();
    prompt();
    for (const Conversation& round : trace_.rounds) events_of(round);
    finish();
    return std::move(sample_);
  }

 private:
  std::size_t number_of(const Conversation& round) const {
    return static_cast<std::size_t>(&round - trace_.rounds.data()) + 1;
  }

  // The times, the model and the sums.
  void look_over() {
    round_ = best_round(trace_);
    best_ = round_ ? best_turn(*round_) : nullptr;
    for (const Conversation& round : trace_.rounds)
      for (const Turn& turn : round.turns) {
        ++turns_;
        if (!turn.model.empty()) sample_.model = turn.model;
        if (usage_json(turn.usage).is_object()) add_usage(by_model_[turn.model], turn.usage);
        add_usage(sample_.usage, turn.usage);
        working_s_ += seconds_of(turn);
        auto answered = moment_of(turn.answered_at);
        if (!answered) continue;
        Moment asked = *answered - duration_of(turn);
        sample_.began = std::min(sample_.began.value_or(asked), asked);
        sample_.ended = std::max(sample_.ended.value_or(*answered), *answered);
      }
    if (auto ended = moment_of(trace_.ended_at)) {
      sample_.ended = std::max(sample_.ended.value_or(*ended), *ended);
      if (!sample_.began) sample_.began = ended;
    }
  }

  static std::chrono::microseconds duration_of(const Turn& turn) {
    constexpr double most_s = 1e9;
    return std::chrono::microseconds(static_cast<std::int64_t>(std::min(seconds_of(turn), most_s) * 1e6));
  }

  json::object message(std::string_view role, json::value content, const std::string& name) const {
    return {{"id", fmt::format("{}-{}", uuid_, name)},
            {"content", std::move(content)},
            {"source", role == "assistant" ? "generate" : "input"},
            {"role", json::string(role)}};
  }

  json::object answer(const Turn& turn, const std::string& name) const {
    json::value content(turn.completion);
    if (!turn.reasoning.empty())
      content = json::array{json::object{{"type", "reasoning"}, {"reasoning", turn.reasoning}},
                            json::object{{"type", "text"}, {"text", turn.completion}}};
    json::object object = message("assistant", std::move(content), name);
    if (!turn.model.empty()) object["model"] = turn.model;
    return object;
  }

  void prompt() {
    for (const Message& each : trace_.prompt) {
      std::string_view role =
          is_one_of(each.role, {"system", "assistant"}) ? std::string_view(each.role) : "user";
      input_.push_back(message(role, json::value(each.content), fmt::format("prompt-{}", input_.size() + 1)));
    }
    seen_ = input_;
  }

  json::object event(const char* kind, const std::optional<Moment>& at) {
    json::object object{{"uuid", fmt::format("{}-{}", uuid_, events_.size() + 1)},
                        {"timestamp", to_text(at.value_or(sample_.began.value_or(Moment())))},
                        {"working_start", clock_s_},
                        {"event", kind}};
    if (!span_.empty()) object["span_id"] = span_;
    return object;
  }

  void add_event(const char* kind, const std::optional<Moment>& at, json::object fields) {
    json::object object = event(kind, at);
    for (auto& [name, value] : fields) object[name] = std::move(value);
    events_.push_back(std::move(object));
  }

  // Messages are stored once, in seen_; an event refers to ranges of it.
  void events_of(const Conversation& round) {
    const std::size_t number = number_of(round);
    const std::size_t own = seen_.size();
    if (trace_.rounds.size() > 1) {
      span_ = fmt::format("{}-round-{}", uuid_, number);
      add_event("span_begin", last_,
                {{"id", span_}, {"type", "round"}, {"name", fmt::format("round {}", number)}});
    }
    for (const Turn& turn : round.turns) {
      std::string name = fmt::format("{}-{}", number, turn.turn);
      json::array refs;
      if (!input_.empty()) refs.push_back(json::array{0, input_.size()});
      if (seen_.size() > own) refs.push_back(json::array{own, seen_.size()});
      add_answer(turn, name, std::move(refs));
      if (turn.verdict) add_judgement(turn);
      json::object said = message("assistant", json::value(turn.completion), name + "-answer");
      seen_.push_back(std::move(said));
      if (!turn.feedback.empty())
        seen_.push_back(message("user", json::value(turn.feedback), name + "-feedback"));
    }
    if (!round.error.empty()) add_event("error", last_, {{"error", error_json(round.error)}});
    if (trace_.rounds.size() > 1) add_event("span_end", last_, {{"id", span_}});
    span_.clear();
  }

  void add_answer(const Turn& turn, const std::string& name, json::array refs) {
    auto answered = moment_of(turn.answered_at);
    auto asked = answered ? std::optional(*answered - duration_of(turn)) : last_;
    json::value usage = usage_json(turn.usage);
    json::object output{
        {"model", turn.model},
        {"choices", json::array{{{"message", answer(turn, name)},
                                 {"stop_reason", json::string(stop_reason_word(turn.finish_reason))}}}},
        {"completion", turn.completion},
        {"usage", usage},
        {"time", seconds_of(turn)}};
    if (&turn == best_) output_ = output;
    add_event("model", asked,
              {{"model", turn.model},
               {"input", json::array()},
               {"input_refs", std::move(refs)},
               {"tools", json::array()},
               {"tool_choice", "none"},
               {"config", json::object()},
               {"output", std::move(output)},
               {"completed", iso_or_null(answered)},
               {"working_time", seconds_of(turn)}});
    clock_s_ += seconds_of(turn);
    if (answered) last_ = answered;
  }

  void add_judgement(const Turn& turn) {
    auto judged = moment_of(turn.judged_at);
    if (judged) last_ = judged;
    ScoreValues values = values_of(*turn.verdict);
    if (values.empty())
      return add_event("info", last_,
                       {{"source", "kernelwright"}, {"data", explanation_of(turn, trace_.task)}});
    const auto& [scorer, value] = values.front();
    add_event("score", last_,
              {{"score", json::object{{"value", score_value(scorer, value)},
                                      {"answer", code_of(turn)},
                                      {"explanation", explanation_of(turn, trace_.task)}}},
               {"scorer", scorer},
               {"intermediate", true}});
  }

  // The conversation that represents the trace, with the model's reasoning.
  json::array messages() const {
    json::array list = input_;
    if (!round_) return list;
    const std::size_t number = number_of(*round_);
    for (const Turn& turn : round_->turns) {
      std::string name = fmt::format("{}-{}", number, turn.turn);
      list.push_back(answer(turn, name));
      if (!turn.feedback.empty())
        list.push_back(message("user", json::value(turn.feedback), name + "-feedback"));
    }
    return list;
  }

  json::value scores() {
    if (!best_ || !best_->verdict) return nullptr;
    sample_.values = values_of(*best_->verdict);
    if (sample_.values.empty()) return nullptr;
    json::object scores;
    for (const auto& [scorer, value] : sample_.values) {
      json::object score{{"value", score_value(scorer, value)}};
      if (scores.empty()) {
        score["answer"] = code_of(*best_);
        score["explanation"] = explanation_of(*best_, trace_.task);
        score["metadata"] = to_json(*best_->verdict);
      }
      scores[scorer] = std::move(score);
    }
    return scores;
  }

  json::object metadata() const {
    const Task& task = trace_.task;
    json::object metadata{{"task_id", task.task_id},
                          {"source", task.source},
                          {"level", text_or_null(task.level)},
                          {"problem_id", text_or_null(task.problem_id)},
                          {"name", text_or_null(task.name)},
                          {"entry_point", text_or_null(task.entry_point)},
                          {"licence", text_or_null(task.licence)},
                          {"repo", text_or_null(task.repo)},
                          {"sample_number", trace_.sample_number}};
    if (round_ && round_->stop_reason) metadata["stop_reason"] = to_string(*round_->stop_reason);
    if (round_) metadata["round"] = number_of(*round_);
    if (best_) metadata["best_turn"] = best_->turn;
    if (best_ && best_->verdict) {
      metadata["status"] = to_string(best_->verdict->status);
      if (best_->verdict->error_class) metadata["error_class"] = to_string(*best_->verdict->error_class);
    }
    return metadata;
  }

  json::object usage_by_model() const {
    json::object object;
    for (const auto& [model, usage] : by_model_)
      object[model.empty() ? "unknown" : model] = usage_json(usage);
    return object;
  }

  // Why there is no score, if that ended the trace.
  std::string error() const {
    if (!sample_.values.empty() || !round_) return {};
    if (!round_->error.empty()) return round_->error;
    if (best_ && best_->verdict) return best_->verdict->error.value_or("");
    return round_->stop_reason ? std::string(to_string(*round_->stop_reason)) : "not judged";
  }

  void finish() {
    json::value all_scores = scores();
    json::object facts = metadata();
    std::string trouble = error();
    sample_.has_error = !trouble.empty();
    json::array list = messages();
    json::value total_s;
    if (sample_.began && sample_.ended)
      total_s = std::chrono::duration<double>(*sample_.ended - *sample_.began).count();
    json::object common{{"id", sample_.id},
                        {"epoch", sample_.epoch},
                        {"target", ""},
                        {"description", text_or_null(trace_.task.name)},
                        {"scores", std::move(all_scores)},
                        {"metadata", facts},
                        {"model_usage", usage_by_model()},
                        {"started_at", iso_or_null(sample_.began)},
                        {"completed_at", iso_or_null(sample_.ended)},
                        {"total_time", std::move(total_s)},
                        {"working_time", working_s_},
                        {"uuid", uuid_},
                        {"turn_count", turns_}};
    summary(common, trouble, list.size());
    json::object& whole = sample_.whole = std::move(common);
    facts["reference_code"] = trace_.task.reference_code;
    facts["sampling"] = trace_.sampling;
    whole["metadata"] = std::move(facts);
    whole["input"] = asked();
    whole["messages"] = std::move(list);
    whole["output"] = std::move(output_);
    whole["store"] = json::object();
    whole["events"] = std::move(events_);
    whole["events_data"] = json::object{{"messages", std::move(seen_)}, {"calls", json::array()}};
    whole["attachments"] = json::object();
    if (!trouble.empty()) whole["error"] = error_json(trouble);
  }

  // The prompt without the system's part, which is the same for every task; all of it if there is no other.
  json::array asked() const {
    json::array own;
    for (const json::value& each : input_)
      if (each.at("role") != "system") own.push_back(each);
    return own.empty() ? input_ : own;
  }

  void summary(const json::object& common, const std::string& trouble, std::size_t messages) {
    json::object& row = sample_.summary = common;
    json::array thinned;
    for (const json::value& each : asked()) thinned.push_back(thin(each.get_object()));
    row["input"] = std::move(thinned);
    if (json::object* scores = row["scores"].if_object())
      for (auto& [scorer, score] : *scores) {
        json::object& fields = score.get_object();
        fields.erase("metadata");
        if (json::value* answer = fields.if_contains("answer"); answer && answer->is_string())
          *answer = shorten(best_->code, summary_text_bytes);
        if (json::value* why = fields.if_contains("explanation"); why && why->is_string())
          *why = shorten(why->get_string(), summary_text_bytes);
      }
    for (auto& [name, value] : row["metadata"].get_object())
      if (value.is_string()) value = shorten(value.get_string(), summary_text_bytes);
    if (!trouble.empty()) row["error"] = shorten(trouble, summary_text_bytes);
    row["completed"] = true;
    row["message_count"] = messages;
  }

  const Trace& trace_;
  Sample sample_;
  std::string uuid_;
  const Conversation* round_ = nullptr;  // that represents the trace
  const Turn* best_ = nullptr;
  std::size_t turns_ = 0;
  double working_s_ = 0;
  double clock_s_ = 0;  // the working time before the event
  std::optional<Moment> last_;
  std::map<std::string, Usage> by_model_;
  json::array input_;  // the prompt
  json::array seen_;   // what the model was sent: the prompt, then earlier answers and feedback
  json::array events_;
  std::string span_;  // the round's, where there are several
  json::object output_{{"model", ""}, {"choices", json::array()}, {"completion", ""}};
};

}  // namespace

std::string sample_id(const std::string& task_id) {
  std::string id = task_id.substr(0, longest_id_bytes);
  for (char& c : id)
    if (!is_safe_in_id(c)) c = '_';
  if (!has_safe_parts(id)) std::ranges::replace(id, '/', '_');
  if (id == task_id && !id.empty() && !id.starts_with('.')) return id;
  return fmt::format("task_{}_{}", id, sha256_hex(task_id).substr(0, id_hash_digits));
}

ScoreValues values_of(const Verdict& verdict) {
  ScoreValues values;
  auto right = correctness(verdict);
  if (!right) return values;
  if (!*right || verdict.counts) values.emplace_back(counts_scorer, correct_and_counts(verdict) ? 1 : 0);
  values.emplace_back(correct_scorer, *right ? 1 : 0);
  if (*right && verdict.speedup && std::isfinite(*verdict.speedup) && *verdict.speedup > 0)
    values.emplace_back(speedup_scorer, *verdict.speedup);
  return values;
}

Sample sample_of(const Trace& trace, const std::string& id, int epoch) {
  return Made(trace, id, epoch).make();
}

}  // namespace kw::exports
