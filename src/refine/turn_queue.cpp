#include "refine/turn_queue.h"

#include "base/utc_now.h"
#include "refine/feedback.h"
#include "refine/stop_rule.h"

namespace kw::refine {

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

std::optional<StopReason> TurnQueue::should_stop(const OpenTrace& open) const {
  return stop_reason_after(open.conversation(), settings_);
}

std::string TurnQueue::build_feedback(const OpenTrace& open) const {
  const Turn& turn = open.conversation().turns.back();
  return refine::build_feedback(
      *turn.verdict, turn.code,
      FeedbackContext{settings_.style, settings_.target_speedup, turn.finish_reason == "length"});
}

bool TurnQueue::finalize(OpenTrace& open, StopReason reason, std::string error) const {
  open.conversation().stop_reason = reason;
  open.conversation().error = std::move(error);
  if (deserves_retry(open.trace, settings_)) return false;
  open.trace.ended_at = utc_now();
  return true;
}

}  // namespace kw::refine
