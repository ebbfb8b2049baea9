// Turn: one model answer and its verdict. Trace: all turns of one sample of a task.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "types/job.h"
#include "types/verdict.h"

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
  std::string reasoning;   // the model's thoughts before the answer; empty if unknown
  std::string completion;  // the complete answer, without the reasoning
  std::string code;        // extracted from the answer; empty if there is none
  std::string model;       // the server's name for it
  std::string finish_reason;
  Usage usage;
  double generation_ms = 0;
  std::string answered_at;         // ISO 8601, UTC
  std::optional<Verdict> verdict;  // none: not judged yet
  std::string judged_at;           // ISO 8601, UTC; empty: see the log
  std::string feedback;            // the next message to the model; empty on a last turn
};

// task_invalid: the reference itself is broken. verifier_unavailable: no verdict, through no fault of the
// candidate.
BOOST_DEFINE_ENUM_CLASS(StopReason, success_fast, success_correct, max_turns_reached, context_overflow,
                        generation_failed, refused, task_invalid, verifier_unavailable)

// One conversation. A task whose turns were all wrong gets a second, new one.
struct Conversation {
  std::vector<Turn> turns;
  std::optional<StopReason> stop_reason;  // none: not ended
  std::string error;                      // why there was no answer, if that ended it
};

struct Trace {
  Task task;
  std::size_t sample_number = 0;
  std::vector<Message> prompt;  // system (unless empty) and first user message
  boost::json::object sampling;
  std::vector<Conversation> rounds;  // one or two
  std::string ended_at;
};

// The better of two turns: correct and counting before correct before judged; among correct turns the
// faster; else the later. Empty for no turns.
const Turn* best_turn(const Conversation& conversation);

// The round that represents the trace: the one with the better best turn; of equal ones the later.
const Conversation* best_round(const Trace& trace);

// True if no turn is correct and counts.
bool is_failed(const Trace& trace);

// "kernelbench_9", "kernelbook_1174": the task's own sample_key, else derived from source and id. Not
// unique.
std::string sample_key(const Task& task);

// The form of recorded single-turn traces (at most one turn) or multi-turn traces, with additional fields;
// docs/formats.md lists them.
boost::json::object single_turn_json(const Trace& trace);
boost::json::object multi_turn_json(const Trace& trace);

// The inverse of both: reads recorded rows, which lack the additional fields, and written rows without loss.
Result<Trace> trace_from_json(const boost::json::object& row);

// The messages of the complete conversation for a model server: prompt, answers, feedback.
std::vector<Message> messages_of(const Trace& trace, const Conversation& conversation);

}  // namespace kw
