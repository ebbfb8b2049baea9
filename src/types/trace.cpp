#include "types/trace.h"

#include <algorithm>
#include <compare>
#include <limits>

namespace kw {

namespace {

// The order of turns; the most important criterion comes first.
struct Merit {
  int rank = -1;  // 3 correct and counting, 2 correct, 1 wrong, 0 not judged, -1 no turn
  double speedup = -std::numeric_limits<double>::infinity();  // of a correct turn; unknown is least
  auto operator<=>(const Merit&) const = default;
};

Merit merit(const Turn* turn) {
  if (!turn) return {};
  if (!turn->verdict || !correctness(*turn->verdict)) return {.rank = 0};
  if (!*correctness(*turn->verdict)) return {.rank = 1};
  Merit merit{.rank = correct_and_counts(*turn->verdict) ? 3 : 2};
  if (turn->verdict->speedup) merit.speedup = *turn->verdict->speedup;
  return merit;
}

std::string after_slash(const std::string& task_id) {
  return task_id.substr(task_id.find('/') + 1);
}

}  // namespace

const Turn* best_turn(const Conversation& conversation) {
  const Turn* best = nullptr;
  for (const Turn& turn : conversation.turns)
    if (merit(&turn) >= merit(best)) best = &turn;
  return best;
}

const Conversation* best_round(const Trace& trace) {
  const Conversation* best = nullptr;
  for (const Conversation& round : trace.rounds)
    if (!best || merit(best_turn(round)) >= merit(best_turn(*best))) best = &round;
  return best;
}

bool is_failed(const Trace& trace) {
  auto counts = [](const Turn& turn) { return turn.verdict && correct_and_counts(*turn.verdict); };
  return std::ranges::none_of(
      trace.rounds, [&](const Conversation& round) { return std::ranges::any_of(round.turns, counts); });
}

std::string sample_key(const Task& task) {
  if (!task.sample_key.empty()) return task.sample_key;
  if (task.source == "kernelbench" && !task.problem_id.empty()) return "kernelbench_" + task.problem_id;
  if (task.task_id.starts_with(task.source + "/")) return task.source + "_" + after_slash(task.task_id);
  return task.source.empty() ? task.task_id : task.source + "_" + task.task_id;
}

std::vector<Message> messages_of(const Trace& trace, const Conversation& conversation) {
  std::vector<Message> messages = trace.prompt;
  for (const Turn& turn : conversation.turns) {
    messages.push_back({"assistant", turn.completion});
    if (!turn.feedback.empty()) messages.push_back({"user", turn.feedback});
  }
  return messages;
}

}  // namespace kw
