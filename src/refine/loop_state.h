// What the loop knows while it runs. loop.cpp starts and ends work, loop_turn.cpp is one turn of one trace.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "async/semaphore.h"
#include "refine/loop.h"
#include "refine/open_trace.h"
#include "refine/turn_queue.h"
#include "verify/shared_verifier.h"

namespace kw::refine {

struct Loop::State {
  State(async::Loop& on, async::Stop& until, llm::ChatClient& model, verify::Verifier& judge,
        store::TraceLog& to, Settings how, Hooks told);

  async::Task<Result<>> run(TaskSource& source);

  // ---- loop.cpp: what is started, and when ----
  void read_one(TaskSource& source);
  bool wants_more() const;
  bool ending() const { return stop.requested(); }
  void pump();
  void start(async::Task<> work);
  void break_off(Error error);
  bool kept(const Result<>& result);  // of a call to the log; where it failed, the run breaks off
  OpenTracePtr new_trace(store::TraceKey key);

  // ---- loop_turn.cpp: one trace ----
  async::Task<> enter(OpenTracePtr open);
  async::Task<> ask(OpenTracePtr open, async::Semaphore::Place place);
  async::Task<> judge(OpenTracePtr open);
  async::Task<std::optional<Verdict>> known(std::string work);
  async::Task<> decide(OpenTracePtr open);
  async::Task<> finish(OpenTracePtr open, StopReason reason, std::string explanation);
  async::Task<> take_answer(OpenTracePtr open, llm::ChatAnswer answer);
  async::Task<> take_failure(OpenTracePtr open, llm::ChatFailure failure);
  llm::ChatRequest request_for(const OpenTrace& open) const;
  bool is_hopeless(const llm::ChatFailure& failure);
  void go_on(OpenTracePtr open, Phase phase);

  async::Loop& loop;
  async::Stop& stop;
  llm::ChatClient& chat;
  verify::Verifier& verifier;
  store::TraceLog& log;
  Settings settings;
  Hooks hooks;

  std::size_t most_open = 1;      // traces in memory
  std::size_t open_traces = 0;    // being worked on, or waiting
  std::size_t entering = 0;       // among them: being looked up in the log
  std::size_t working = 0;        // coroutines
  std::size_t answers = 0;        // since the start of this run
  std::size_t failed_in_row = 0;  // requests without one answer between them
  std::optional<llm::ChatFailure> last_failure;
  std::optional<Error> error;  // the first that breaks the run off
  bool exhausted = false;      // the source has no more
  bool pumping = false;
  std::optional<TaskItem> item;  // whose samples are being started
  std::size_t next_sample = 0;
  async::Event changed;
  async::Semaphore requests;  // in flight

  verify::SharedVerifier shared;
  TurnQueue queue;  // last: its traces report to the counters above when they go
};

}  // namespace kw::refine
