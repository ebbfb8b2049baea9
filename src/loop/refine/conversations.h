// Unfinished conversations: the next step of a trace, the rule that ends a conversation, and the queue of
// those that wait for a request to the model.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "loop/refine/settings.h"
#include "loop/run_store/trace_log.h"
#include "types/trace.h"

namespace kw::refine {

// The maximum number of turns of a conversation.
std::size_t turn_cap(const Settings& settings);

// Call it after the last turn's verdict. Empty: continue with feedback. A turn without a verdict is judged
// next.
std::optional<StopReason> stop_reason_after(const Conversation& conversation, const Settings& settings);

// Whether the task gets a second, new conversation: the first one reached the limit of turns or the context
// without a turn that is correct and counts.
bool deserves_retry(const Trace& trace, const Settings& settings);

// Whether the verdict is correct, but no candidate of this task can count: an empty answer passes, or the
// reference is random.
bool can_never_count(const Verdict& verdict);

// Whether the verdict is skipped, but a model can use its finding: wrong at reduced shapes.
bool is_wrong_at_reduced_shapes(const Verdict& verdict);

// An unfinished trace, and its next step.
struct OpenTrace {
  store::TraceKey key;
  Trace trace;

  Conversation& conversation() { return trace.rounds.back(); }
  const Conversation& conversation() const { return trace.rounds.back(); }
  std::size_t round() const { return trace.rounds.size() - 1; }  // from 0, as the log counts

  // Frees the reasoning of its turns, most of an answer: the log has it, and no request holds it.
  void drop_reasoning();
};

using OpenTracePtr = std::shared_ptr<OpenTrace>;

enum class Phase {
  ask,     // the model is to answer
  judge,   // the last answer has no verdict
  decide,  // the last verdict has neither feedback nor an end
  over     // nothing is left to do
};

// Resumes a trace and returns its next step. Undoes an end that was not the candidate's fault: after
// generation_failed the model is asked again, after verifier_unavailable the last answer is judged again.
// Opens a second conversation if the first one has ended and deserves it.
Phase take_up(Trace& trace, const Settings& settings);

// "KEY#TURN", "KEY~2#TURN" for the second sample of a task, "KEY#2.TURN" in a second conversation.
std::string verdict_id(const OpenTrace& open, std::size_t turn);

// The feedback on the last turn.
std::string feedback_on(const OpenTrace& open, const Settings& settings);

// What follows the verdict of the last turn.
struct NextStep {
  std::optional<StopReason> end;  // none: the conversation continues with the feedback
  std::string why;                // the explanation of an end; may be empty
  std::string feedback;           // the next message to the model
};

// A pure function of the conversation. The last turn has a verdict.
NextStep next_step(const OpenTrace& open, const Settings& settings);

// Ends the conversation. True: the trace has ended too. False: the task gets a new conversation.
bool end_conversation(OpenTrace& open, StopReason reason, std::string error, const Settings& settings);

// The conversations that wait for a request to the model.
class TurnQueue {
 public:
  // Appends a new conversation.
  void add(OpenTracePtr open) { fresh_.push_back(std::move(open)); }
  // Inserts a continued conversation before all new ones, so that begun conversations end first.
  void requeue(OpenTracePtr open) { continued_.push_back(std::move(open)); }

  // Empty if no conversation waits.
  OpenTracePtr pop();

  std::size_t size() const { return fresh_.size() + continued_.size(); }
  void clear();

 private:
  std::deque<OpenTracePtr> continued_;
  std::deque<OpenTracePtr> fresh_;
};

}  // namespace kw::refine
