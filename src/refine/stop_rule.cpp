#include "refine/stop_rule.h"

#include <algorithm>

namespace kw::refine {
namespace {

std::optional<StopReason> success_of(const Verdict& verdict, const Settings& settings) {
  if (!correct_and_counts(verdict)) return {};
  if (auto speedup = speedup_trusted(verdict, settings.min_trust))
    return *speedup >= settings.target_speedup ? std::optional(StopReason::success_fast) : std::nullopt;
  return settings.require_speed == RequireSpeed::automatic ? std::optional(StopReason::success_correct)
                                                           : std::nullopt;
}

std::optional<StopReason> dead_end_of(const Verdict& verdict) {
  if (verdict.fault == Fault::task || can_never_count(verdict)) return StopReason::task_invalid;
  if (verdict.status == Status::error) return StopReason::verifier_unavailable;
  if (verdict.status == Status::skipped && !is_wrong_at_reduced_shapes(verdict))
    return StopReason::verifier_unavailable;
  return {};
}

// The model spent its whole answer without giving one.
bool is_empty_answer(const Turn& turn) {
  return turn.completion.find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

std::size_t turn_cap(const Settings& settings) {
  return settings.multi_turn ? std::max<std::size_t>(1, settings.max_turns) : 1;
}

bool can_never_count(const Verdict& verdict) {
  return verdict.status == Status::correct && (verdict.counts_reason == CountsReason::proves_nothing ||
                                               verdict.counts_reason == CountsReason::nondeterministic);
}

bool is_wrong_at_reduced_shapes(const Verdict& verdict) {
  return verdict.status == Status::skipped && verdict.comparison &&
         std::ranges::any_of(verdict.comparison->findings,
                             [](const std::string& each) { return each.starts_with("at reduced shapes: "); });
}

std::optional<StopReason> stop_reason_after(const Conversation& conversation, const Settings& settings) {
  if (conversation.turns.empty() || !conversation.turns.back().verdict) return {};
  const Turn& last = conversation.turns.back();
  if (auto success = success_of(*last.verdict, settings)) return success;
  if (auto dead_end = dead_end_of(*last.verdict)) return dead_end;
  if (conversation.turns.size() < turn_cap(settings)) return {};
  return is_empty_answer(last) ? StopReason::generation_failed : StopReason::max_turns_reached;
}

bool deserves_retry(const Trace& trace, const Settings& settings) {
  if (!settings.multi_turn || !settings.retry_failed || trace.rounds.size() != 1) return false;
  const Conversation& first = trace.rounds.front();
  bool ran_out =
      first.stop_reason == StopReason::max_turns_reached || first.stop_reason == StopReason::context_overflow;
  return ran_out && !first.turns.empty() && is_failed(trace);
}

}  // namespace kw::refine
