#include "loop/run_store/training_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/json.h"
#include "types/job.h"

namespace kw::store {
namespace json = boost::json;
namespace {

// A turn of a trace, with its round.
struct Place {
  const Trace& trace;
  const Conversation& round;
  const Turn& turn;

  std::size_t round_number() const { return static_cast<std::size_t>(&round - trace.rounds.data()) + 1; }
};

// For programs that expect a number in every result: a speed of 0.0, a time of 0.0, not fast.
void put_zeros(json::value& value) {
  if (json::array* list = value.if_array())
    for (json::value& each : *list) put_zeros(each);
  json::object* object = value.if_object();
  if (object == nullptr) return;
  auto put = [&](std::string_view key, const json::value& zero) {
    if (json::value* found = object->if_contains(key); found && found->is_null()) *found = zero;
  };
  if (object->contains("correctness") && object->contains("fast_1")) {
    for (std::string_view key : {"speedup", "reference_time_ms", "kernel_time_ms"}) put(key, 0.0);
    for (std::string_view key : {"fast_1", "fast_2"}) put(key, false);
    return;
  }
  for (auto& member : *object) put_zeros(member.value());
}

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

  std::optional<ReviewLabel> label_of(const Turn& turn) const {
    if (options_.reviews.empty()) return {};
    auto found = options_.reviews.of_answer(trace_.task.task_id, candidate_sha256(turn.code));
    return found ? std::optional(found->label) : std::nullopt;
  }

  // The reason of the options or of the review to omit the turn; empty if it is included.
  std::string why_omitted(const Turn& turn) const {
    std::string why = why_left_out(turn, options_);
    if (!why.empty()) return why;
    auto label = label_of(turn);
    bool is_unwanted = label && std::ranges::find(options_.leave_out, *label) != options_.leave_out.end();
    return is_unwanted ? fmt::format("labelled {}", to_string(*label)) : std::string();
  }

  // The best turn of the trace; empty if the options omit it.
  std::optional<Place> best() {
    const Conversation* round = best_round(trace_);
    const Turn* turn = round ? best_turn(*round) : nullptr;
    std::string why = turn ? why_omitted(*turn) : "without an answer";
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
        std::string why = why_omitted(turn);
        why.empty() ? add_turn({trace_, round, turn}) : leave_out(why);
      }
  }

  void whole() {
    auto place = best();
    if (!place) return;
    if (options_.format == Format::traces)
      add_trace(place->turn);
    else
      add_conversation(*place);
  }

  void add_trace(const Turn& turn) {
    json::value row = options_.form == Form::multi ? multi_turn_json(trace_) : single_turn_json(trace_);
    if (options_.unmeasured_is_zero) put_zeros(row);
    add(row.get_object(), turn);
  }

  // A row for the best turn with each worse one.
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

  // Adds the complete conversation, or up to its best turn if there is a filter.
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

  // A list of messages has a value if one of its messages has a reasoning.
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

  // Each answer to learn has the key, null without reasoning, since readers require one type.
  json::object answer(const Turn& turn) const {
    if (options_.reasoning == ReasoningKey::inline_ && !turn.reasoning.empty())
      return message("assistant",
                     fmt::format("<think>\n{}\n</think>\n\n{}", turn.reasoning, turn.completion));
    json::object object = message("assistant", turn.completion);
    if (has_key()) object[to_string(options_.reasoning)] = text_or_null(turn.reasoning);
    return object;
  }

  // The model's prompt contained its earlier answers without reasoning.
  json::object earlier_answer(const Turn& turn) const {
    json::object object = message("assistant", turn.completion);
    if (has_key() && options_.format == Format::messages) object[to_string(options_.reasoning)] = nullptr;
    return object;
  }

  json::value speedup(const Turn& turn) const {
    if (turn.verdict && turn.verdict->speedup) return *turn.verdict->speedup;
    return options_.unmeasured_is_zero ? json::value(0.0) : json::value(nullptr);
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

  void add_turn_fields(json::object& row, const Place& place) const {
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
    if (options_.reviews.empty()) return;
    auto label = label_of(place.turn);
    row["review"] = label ? text_or_null(to_string(*label)) : json::value(nullptr);
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

std::vector<TrainingRow> training_rows(const Trace& trace, const TrainingOptions& options, Tally& tally) {
  return Rows(trace, options, tally).make();
}

namespace {

constexpr double worthwhile_gain = 1.1;

// The enumeration begins with the best trust.
bool is_trusted(const Verdict& verdict, Trust least) {
  return verdict.trust && *verdict.trust <= least;
}

std::string why_not_correct(const Verdict& verdict) {
  if (!correctness(verdict)) return "not tried to the end";
  if (!*correctness(verdict)) return "wrong";
  if (!verdict.counts) return not_known_to_count;
  if (!*verdict.counts) return "right without counting";
  return {};
}

std::string why_not_fast(const Verdict& verdict, Filter filter) {
  bool fast = filter == Filter::fast_1 ? fast_1(verdict) == true : fast_2(verdict) == true;
  if (fast) return {};
  return verdict.speedup ? fmt::format("not {}", to_string(filter)) : "of unknown speed";
}

}  // namespace

bool is_benchmark(const Task& task) {
  return task.source == "kernelbench" || task.task_id.starts_with("kernelbench/");
}

std::string why_left_out(const Turn& turn, const TrainingOptions& options) {
  if (options.filter == Filter::none && !options.min_trust) return {};
  if (!turn.verdict) return "not judged";
  if (options.filter != Filter::none)
    if (std::string why = why_not_correct(*turn.verdict); !why.empty()) return why;
  if (options.filter == Filter::fast_1 || options.filter == Filter::fast_2)
    if (std::string why = why_not_fast(*turn.verdict, options.filter); !why.empty()) return why;
  if (options.min_trust && !is_trusted(*turn.verdict, *options.min_trust))
    return fmt::format("trusted less than {}", to_string(*options.min_trust));
  return {};
}

bool is_better(const Turn& one, const Turn& other) {
  if (!one.verdict || !other.verdict || !correct_and_counts(*one.verdict)) return false;
  if (one.completion == other.completion) return false;
  if (correctness(*other.verdict) == false) return true;
  if (!correct_and_counts(*other.verdict) || !one.verdict->speedup || !other.verdict->speedup) return false;
  return *one.verdict->speedup >= worthwhile_gain * *other.verdict->speedup;
}

}  // namespace kw::store
