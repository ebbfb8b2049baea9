#include "store/training_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "store/training_filter.h"

namespace kw::store {
namespace json = boost::json;
namespace {

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(json::string(text));
}

// One turn of a trace and where it stands.
struct Place {
  const Trace& trace;
  const Conversation& round;
  const Turn& turn;

  std::size_t round_number() const { return static_cast<std::size_t>(&round - trace.rounds.data()) + 1; }
};

class Rows {
 public:
  Rows(const Trace& trace, const TrainingOptions& options, Tally& tally)
      : trace_(trace), options_(options), tally_(tally) {}

  std::vector<TrainingRow> make() {
    ++tally_.traces;
    if (!options_.include_benchmarks && is_benchmark(trace_.task)) {
      ++tally_.benchmarks;
      return {};
    }
    if (options_.format == Format::preference)
      pairs();
    else if (options_.format == Format::traces || options_.unit == Unit::conversation)
      whole();
    else
      turns();
    return std::move(rows_);
  }

 private:
  void leave_out(const std::string& why) { ++tally_.left_out[why]; }

  // The best turn of the trace, unless there is none that passes.
  std::optional<Place> best() {
    const Conversation* round = best_round(trace_);
    const Turn* turn = round ? best_turn(*round) : nullptr;
    std::string why = turn ? why_left_out(*turn, options_) : "without an answer";
    if (why.empty()) return Place{trace_, *round, *turn};
    leave_out(why);
    return {};
  }

  void turns() {
    if (options_.best_only) {
      if (auto place = best()) add_turn(*place);
      return;
    }
    for (const Conversation& round : trace_.rounds)
      for (const Turn& turn : round.turns) {
        std::string why = why_left_out(turn, options_);
        why.empty() ? add_turn({trace_, round, turn}) : leave_out(why);
      }
  }

  void whole() {
    auto place = best();
    if (!place) return;
    if (options_.format == Format::traces)
      add(options_.form == Form::multi_turn ? multi_turn_json(trace_) : single_turn_json(trace_),
          place->turn);
    else
      add_conversation(*place);
  }

  // The best turn against each that is worse.
  void pairs() {
    auto chosen = best();
    if (!chosen) return;
    std::size_t before = rows_.size();
    for (const Conversation& round : trace_.rounds)
      for (const Turn& turn : round.turns)
        if (is_better(chosen->turn, turn)) add_pair(*chosen, {trace_, round, turn});
    if (rows_.size() == before) leave_out("without a worse turn to compare with");
  }

  void add_turn(const Place& place) {
    json::array prompt = messages(trace_.prompt);
    for (const Turn& turn : place.round.turns) {
      if (&turn == &place.turn) break;
      prompt.push_back(earlier_answer(turn));
      if (!turn.feedback.empty()) prompt.push_back(message("user", turn.feedback));
    }
    json::object row = conversation(std::move(prompt), {answer(place.turn)});
    add_origin(row);
    add_turn_fields(row, place);
    add(row, place.turn);
  }

  // The whole of it; with a filter, no further than its best turn.
  void add_conversation(const Place& place) {
    json::array completion;
    for (const Turn& turn : place.round.turns) {
      completion.push_back(answer(turn));
      bool last = &turn == &place.round.turns.back();
      if (last || (options_.filter != Filter::none && &turn == &place.turn)) break;
      if (!turn.feedback.empty()) completion.push_back(message("user", turn.feedback));
    }
    json::object row = conversation(messages(trace_.prompt), std::move(completion));
    add_origin(row);
    add_turn_fields(row, place);
    add(row, place.turn);
  }

  void add_pair(const Place& chosen, const Place& rejected) {
    json::object row{{"prompt", messages(trace_.prompt)},
                     {"chosen", json::array{answer(chosen.turn)}},
                     {"rejected", json::array{answer(rejected.turn)}}};
    add_origin(row);
    add_turn_fields(row, chosen);
    row["rejected_round"] = rejected.round_number();
    row["rejected_turn"] = rejected.turn.turn;
    row["rejected_correctness"] = correctness(*rejected.turn.verdict).value_or(false);
    row["rejected_speedup"] = speedup(rejected.turn);
    add(row, chosen.turn);
  }

  // Also the reasoning in a list of messages is a column that may be without a value.
  bool has_value(const json::value& column) const {
    const json::array* list = column.if_array();
    if (!list || !has_key()) return !column.is_null();
    return std::ranges::any_of(*list, [&](const json::value& each) {
      const json::object* object = each.if_object();
      const json::value* reasoning = object ? object->if_contains(to_string(options_.reasoning)) : nullptr;
      return reasoning && !reasoning->is_null();
    });
  }

  json::object conversation(json::array prompt, json::array completion) const {
    if (options_.format == Format::prompt_completion)
      return {{"prompt", std::move(prompt)}, {"completion", std::move(completion)}};
    for (json::value& each : completion) prompt.push_back(std::move(each));
    return {{"messages", std::move(prompt)}};
  }

  static json::object message(std::string_view role, std::string_view content) {
    return {{"role", json::string(role)}, {"content", json::string(content)}};
  }

  static json::array messages(const std::vector<Message>& list) {
    json::array array;
    for (const Message& each : list) array.push_back(message(each.role, each.content));
    return array;
  }

  bool has_key() const {
    return options_.reasoning == ReasoningKey::reasoning_content ||
           options_.reasoning == ReasoningKey::thinking;
  }

  // The key stands in every answer that is learnt, null where there was no reasoning: readers ask for one
  // type.
  json::object answer(const Turn& turn) const {
    if (options_.reasoning == ReasoningKey::inline_ && !turn.reasoning.empty())
      return message("assistant",
                     fmt::format("<think>\n{}\n</think>\n\n{}", turn.reasoning, turn.completion));
    json::object object = message("assistant", turn.completion);
    if (has_key()) object[to_string(options_.reasoning)] = text_or_null(turn.reasoning);
    return object;
  }

  // What the model saw of its own earlier answers had no reasoning.
  json::object earlier_answer(const Turn& turn) const {
    json::object object = message("assistant", turn.completion);
    if (has_key() && options_.format == Format::messages) object[to_string(options_.reasoning)] = nullptr;
    return object;
  }

  static json::value speedup(const Turn& turn) {
    return turn.verdict && turn.verdict->speedup ? json::value(*turn.verdict->speedup) : json::value(nullptr);
  }

  void add_origin(json::object& row) const {
    const Task& task = trace_.task;
    row["task_id"] = task.task_id;
    row["source"] = task.source;
    row["licence"] = text_or_null(task.licence);
    row["repo"] = text_or_null(task.repo);
    row["sample_key"] = sample_key(task);
    row["sample_number"] = trace_.sample_number;
  }

  static void add_turn_fields(json::object& row, const Place& place) {
    const std::optional<Verdict>& verdict = place.turn.verdict;
    auto right = verdict ? correctness(*verdict) : std::nullopt;
    row["round"] = place.round_number();
    row["turn"] = place.turn.turn;
    row["model"] = text_or_null(place.turn.model);
    row["correctness"] = right ? json::value(*right) : json::value(nullptr);
    row["counts"] = verdict && verdict->counts ? json::value(*verdict->counts) : json::value(nullptr);
    row["speedup"] = speedup(place.turn);
    row["trust"] =
        verdict && verdict->trust ? text_or_null(to_string(*verdict->trust)) : json::value(nullptr);
  }

  void add(const json::object& row, const Turn& turn) {
    TrainingRow made{json::serialize(row), {}};
    if (options_.max_bytes && made.text.size() > *options_.max_bytes)
      return leave_out(fmt::format("longer than {} bytes", *options_.max_bytes));
    for (const auto& member : row)
      if (has_value(member.value())) made.filled.emplace_back(member.key());
    rows_.push_back(std::move(made));
    ++tally_.rows;
    ++tally_.sources[trace_.task.source];
    ++tally_.licences[trace_.task.licence.empty() ? "unknown" : trace_.task.licence];
    ++tally_.models[turn.model.empty() ? "unknown" : turn.model];
  }

  const Trace& trace_;
  const TrainingOptions& options_;
  Tally& tally_;
  std::vector<TrainingRow> rows_;
};

}  // namespace

std::string_view to_string(Format value) {
  constexpr std::string_view names[] = {"messages", "prompt-completion", "preference", "traces"};
  return names[static_cast<std::size_t>(value)];
}

std::string_view to_string(Unit value) {
  return value == Unit::turn ? "turn" : "conversation";
}

std::string_view to_string(ReasoningKey value) {
  constexpr std::string_view names[] = {"reasoning_content", "thinking", "inline", "none"};
  return names[static_cast<std::size_t>(value)];
}

std::string_view to_string(Filter value) {
  constexpr std::string_view names[] = {"none", "correct", "fast_1", "fast_2"};
  return names[static_cast<std::size_t>(value)];
}

std::vector<TrainingRow> training_rows(const Trace& trace, const TrainingOptions& options, Tally& tally) {
  return Rows(trace, options, tally).make();
}

}  // namespace kw::store
