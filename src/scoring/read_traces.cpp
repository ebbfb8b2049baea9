#include <fmt/format.h>

#include "extraction/extraction.h"
#include "scoring/read_outputs.h"
#include "store/run_reader.h"

namespace kw::scoring {
namespace {

Output blank(const Trace& trace) {
  Output output;
  output.record.item = output.record.task_id = trace.task.task_id;
  output.record.source = trace.task.source;
  return output;
}

// A conversation without an answer: the model's doing where it declined or ran out of context, else nobody
// knows what it would have said.
void add_silence(const Trace& trace, const std::string& target, Collector& to) {
  Output output = blank(trace);
  output.record.target = target;
  VerdictFacts& facts = output.record.verdict;
  facts.by = JudgedBy::here;
  facts.status = "no_answer";
  facts.error_class = "no_answer";
  const Conversation* last = trace.rounds.empty() ? nullptr : &trace.rounds.back();
  auto reason = last ? last->stop_reason : std::nullopt;
  if (reason) facts.error_class = to_string(*reason);
  if (last) facts.why = last->error;
  bool of_the_model = reason == StopReason::refused || reason == StopReason::context_overflow;
  facts.standing = of_the_model ? score::Standing::wrong : score::Standing::unknown;
  to.add(std::move(output));
}

struct Place {
  std::string target;
  bool several_rounds = false;
  std::size_t round = 0;
};

void add_turn(const Trace& trace, const Turn& turn, const Place& place, JudgedBy by, Collector& to) {
  Output output = blank(trace);
  bool alone = !place.several_rounds && trace.rounds.front().turns.size() == 1;
  output.record.target = alone ? place.target
                         : place.several_rounds
                             ? fmt::format("{}#{}.{}", place.target, place.round, turn.turn)
                             : fmt::format("{}#{}", place.target, turn.turn);
  output.record.turn = alone ? 0 : turn.turn;
  if (!alone) output.conversation = place.target;
  output.record.model = turn.model;
  output.code = turn.code.empty() ? extract_code(turn.completion) : turn.code;
  bool takes = by == JudgedBy::here || to.options().recorded;
  if (takes && turn.verdict) {
    output.record.verdict = facts_of(*turn.verdict, by, to.options().least);
    if (by == JudgedBy::here) to.saw(*turn.verdict);
    return to.add(std::move(output));
  }
  Job job;
  job.task = trace.task;
  job.candidate.code = output.code;
  output.job = std::move(job);
  to.add(std::move(output));
}

}  // namespace

void add_trace(const Trace& trace, JudgedBy by, Collector& to) {
  std::string key = sample_key(trace.task);
  std::size_t before = to.occurrence(key);
  std::string target = before == 0 ? key : fmt::format("{}~{}", key, before + 1);
  std::vector<std::pair<std::size_t, const Turn*>> turns;
  for (std::size_t round = 0; round < trace.rounds.size(); ++round)
    for (const Turn& turn : trace.rounds[round].turns) turns.emplace_back(round + 1, &turn);
  if (turns.empty()) return add_silence(trace, target, to);
  if (to.options().turns == Turns::first) turns.resize(1);
  if (to.options().turns == Turns::last) turns.erase(turns.begin(), turns.end() - 1);
  for (const auto& [round, turn] : turns)
    add_turn(trace, *turn, {target, trace.rounds.size() > 1, round}, by, to);
}

Result<> collect_traces(const std::string& path, Collector& to) {
  auto reader = store::open_run(path);
  if (!reader) return std::unexpected(reader.error());
  while (true) {
    auto trace = (*reader)->next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return {};
    add_trace(**trace, JudgedBy::recorded, to);
  }
}

}  // namespace kw::scoring
