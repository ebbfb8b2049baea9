// TurnQueue: the conversations whose turn it is to ask the model, and the rules between two turns. It does
// nothing by itself: the loop asks it what to do next.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "refine/open_trace.h"
#include "refine/settings.h"

namespace kw::refine {

class TurnQueue {
 public:
  explicit TurnQueue(const Settings& settings) : settings_(settings) {}

  // A conversation that begins: behind those that are there.
  void add(OpenTracePtr open) { fresh_.push_back(std::move(open)); }
  // One that goes on: before all that begin, so that what was begun is brought to its end.
  void requeue(OpenTracePtr open) { continued_.push_back(std::move(open)); }

  // Nothing where none waits.
  OpenTracePtr pop();

  std::size_t size() const { return fresh_.size() + continued_.size(); }
  void clear();

  // The stop rule, after the last turn's verdict.
  std::optional<StopReason> should_stop(const OpenTrace& open) const;
  // Of the last turn.
  std::string build_feedback(const OpenTrace& open) const;
  // Ends the conversation. True: the trace has ended with it; false: the task deserves another, afresh.
  bool finalize(OpenTrace& open, StopReason reason, std::string error) const;

 private:
  const Settings& settings_;
  std::deque<OpenTracePtr> continued_;
  std::deque<OpenTracePtr> fresh_;
};

}  // namespace kw::refine
