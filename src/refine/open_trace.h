// A trace that is being worked on, and what is to be done to it next.
#pragma once

#include <memory>
#include <string>

#include "refine/settings.h"
#include "schema/trace.h"
#include "store/trace_log.h"

namespace kw::refine {

struct OpenTrace {
  store::TraceKey key;
  Trace trace;

  Conversation& conversation() { return trace.rounds.back(); }
  const Conversation& conversation() const { return trace.rounds.back(); }
  std::size_t round() const { return trace.rounds.size() - 1; }  // from 0, as the log counts
};

using OpenTracePtr = std::shared_ptr<OpenTrace>;

enum class Phase {
  ask,     // the model is to answer
  judge,   // an answer is there, without a verdict
  decide,  // a verdict is there, and neither feedback nor an end
  over     // nothing is left to do
};

// What an earlier run left to do. Undoes an end that was no fault of the candidate's: after generation_failed
// the model is asked again, after verifier_unavailable the last answer is judged again. Where the first
// conversation ended and deserves a second one, that is opened.
Phase take_up(Trace& trace, const Settings& settings);

// "KEY#TURN", "KEY~2#TURN" for the second sample of a task, "KEY#2.TURN" in a second conversation.
std::string verdict_id(const OpenTrace& open, std::size_t turn);

}  // namespace kw::refine
