#include "refine/open_trace.h"

#include <fmt/format.h>

#include "refine/stop_rule.h"

namespace kw::refine {
namespace {

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

// False where the end stands.
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

std::string verdict_id(const OpenTrace& open, std::size_t turn) {
  const Task& task = open.trace.task;
  std::string id = task.sample_key.empty() ? task.task_id : task.sample_key;
  if (open.key.sample_number > 0) id += fmt::format("~{}", open.key.sample_number + 1);
  return open.round() == 0 ? fmt::format("{}#{}", id, turn)
                           : fmt::format("{}#{}.{}", id, open.round() + 1, turn);
}

}  // namespace kw::refine
