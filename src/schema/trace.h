// Turn: one model answer and its verdict. Trace: all turns of one sample of a task.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/task.h"
#include "schema/verdict.h"

namespace kw {

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct Usage {
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> completion_tokens;  // reasoning among them
  std::optional<std::int64_t> reasoning_tokens;
};

struct Turn {
  std::size_t turn = 1;    // from 1
  std::string reasoning;   // what the model thought before it answered; empty where it said nothing of it
  std::string completion;  // its whole answer, without the reasoning
  std::string code;        // what was taken out of it; empty where there is none
  std::string model;       // as the server named it
  std::string finish_reason;
  Usage usage;
  double generation_ms = 0;
  std::string answered_at;         // ISO 8601, UTC
  std::optional<Verdict> verdict;  // none: not judged yet
  std::string judged_at;           // ISO 8601, UTC; empty: the log says when
  std::string feedback;            // what the model was told next; empty on a last turn
};

enum class StopReason {
  success_fast,
  success_correct,
  max_turns_reached,
  context_overflow,
  generation_failed,
  refused,
  task_invalid,         // the reference itself is broken
  verifier_unavailable  // no verdict, through no fault of the candidate's
};

std::string_view to_string(StopReason reason);
std::optional<StopReason> stop_reason_from(std::string_view name);

// One conversation: a task whose turns were all wrong gets a second one, afresh.
struct Conversation {
  std::vector<Turn> turns;
  std::optional<StopReason> stop_reason;  // none: not ended
  std::string error;                      // why there was no answer, where that ended it
};

struct Trace {
  Task task;
  std::size_t sample_number = 0;
  std::vector<Message> prompt;  // system (unless empty) and first user message
  boost::json::object sampling;
  std::vector<Conversation> rounds;  // one or two
  std::string ended_at;
};

// The better of two turns: correct and counting, then correct, then judged at all; among the correct the
// faster; else the later. Empty conversations have none.
const Turn* best_turn(const Conversation& conversation);

// The round that speaks for the trace: the one with the better best turn, the later where they are equal.
const Conversation* best_round(const Trace& trace);

// No turn is correct and counting.
bool is_failed(const Trace& trace);

// "kernelbench_9", "kernelbook_1174": the task's own sample_key, else made of source and id. May repeat.
std::string sample_key(const Task& task);

// In the form of the recorded single-turn traces (one turn at most) or multi-turn traces, with our fields
// added. docs/formats.md lists them.
boost::json::object single_turn_json(const Trace& trace);
boost::json::object multi_turn_json(const Trace& trace);

// The inverse of both: recorded rows, in which what is ours is missing, and our own without loss.
Result<Trace> trace_from_json(const boost::json::object& row);

// The messages of the whole conversation, as a model server takes them: prompt, answers, feedback.
std::vector<Message> messages_of(const Trace& trace, const Conversation& conversation);

}  // namespace kw
