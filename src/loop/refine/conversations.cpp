#include "loop/refine/conversations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "loop/refine/feedback.h"

namespace kw::refine {
namespace {

std::optional<StopReason> success_of(const Verdict& verdict, const Settings& settings) {
  if (!correct_and_counts(verdict)) return {};
  if (auto speedup = speedup_trusted(verdict, settings.min_trust))
    return *speedup >= settings.target_speedup ? std::optional(StopReason::success_fast) : std::nullopt;
  return settings.require_speed == RequireSpeed::auto_ ? std::optional(StopReason::success_correct)
                                                       : std::nullopt;
}

std::optional<StopReason> dead_end_of(const Verdict& verdict) {
  if (verdict.fault == Fault::task || can_never_count(verdict)) return StopReason::task_invalid;
  if (verdict.status == Status::error) return StopReason::verifier_unavailable;
  if (verdict.status == Status::skipped && !is_wrong_at_reduced_shapes(verdict))
    return StopReason::verifier_unavailable;
  return {};
}

// The model ended its answer without content.
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

namespace {

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

// False if the end is final.
bool undo_end(Trace& trace) {
  Conversation& last = trace.rounds.back();
  if (last.stop_reason == StopReason::generation_failed) {
    while (!last.turns.empty() && is_blank(last.turns.back().completion)) last.turns.pop_back();
  } else if (last.stop_reason == StopReason::verifier_unavailable) {
    if (!last.turns.empty()) {
      last.turns.back().verdict.reset();
      last.turns.back().judged_at.clear();
    }
  } else {
    return false;
  }
  last.stop_reason.reset();
  last.error.clear();
  trace.ended_at.clear();
  return true;
}

}  // namespace

Phase take_up(Trace& trace, const Settings& settings) {
  if (trace.rounds.empty()) trace.rounds.emplace_back();
  if (trace.rounds.back().stop_reason && !undo_end(trace)) {
    if (!trace.ended_at.empty() || !deserves_retry(trace, settings)) return Phase::over;
    trace.rounds.emplace_back();
  }
  const Conversation& last = trace.rounds.back();
  if (last.turns.empty()) return Phase::ask;
  if (!last.turns.back().verdict) return Phase::judge;
  return last.turns.back().feedback.empty() ? Phase::decide : Phase::ask;
}

void OpenTrace::drop_reasoning() {
  for (Conversation& round : trace.rounds)
    for (Turn& turn : round.turns) std::string().swap(turn.reasoning);
}

std::string verdict_id(const OpenTrace& open, std::size_t turn) {
  const Task& task = open.trace.task;
  std::string id = task.sample_key.empty() ? task.task_id : task.sample_key;
  if (open.key.sample_number > 0) id += fmt::format("~{}", open.key.sample_number + 1);
  return open.round() == 0 ? fmt::format("{}#{}", id, turn)
                           : fmt::format("{}#{}.{}", id, open.round() + 1, turn);
}

std::string feedback_on(const OpenTrace& open, const Settings& settings) {
  const Turn& turn = open.conversation().turns.back();
  return build_feedback(*turn.verdict, turn.code,
                        FeedbackContext{settings.style, settings.target_speedup,
                                        turn.finish_reason == "length", settings.min_trust});
}

namespace {

std::string why(StopReason reason, const Turn& turn) {
  const Verdict& verdict = *turn.verdict;
  if (reason == StopReason::generation_failed) return verdict.error.value_or("the answer was empty");
  if (can_never_count(verdict)) return "correct, but no answer to this task can count";
  bool blames = reason == StopReason::task_invalid || reason == StopReason::verifier_unavailable;
  return blames ? verdict.error.value_or("") : "";
}

}  // namespace

NextStep next_step(const OpenTrace& open, const Settings& settings) {
  if (auto reason = stop_reason_after(open.conversation(), settings))
    return {reason, why(*reason, open.conversation().turns.back()), ""};
  return {{}, "", feedback_on(open, settings)};
}

bool end_conversation(OpenTrace& open, StopReason reason, std::string error, const Settings& settings) {
  open.conversation().stop_reason = reason;
  open.conversation().error = std::move(error);
  if (deserves_retry(open.trace, settings)) return false;
  open.trace.ended_at = utc_now();
  return true;
}

OpenTracePtr TurnQueue::pop() {
  auto& from = continued_.empty() ? fresh_ : continued_;
  if (from.empty()) return nullptr;
  OpenTracePtr open = std::move(from.front());
  from.pop_front();
  return open;
}

void TurnQueue::clear() {
  continued_.clear();
  fresh_.clear();
}

}  // namespace kw::refine
