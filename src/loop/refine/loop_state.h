// The state of the loop. loop.cpp starts and ends work, loop_turn.cpp performs one turn of one trace.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/async/semaphore.h"
#include "loop/refine/checks.h"
#include "loop/refine/conversations.h"
#include "loop/refine/loop.h"
#include "verify/api/shared_verifier.h"

namespace kw::refine {

struct Loop::State {
  State(async::Loop& on, async::Stop& until, llm::ChatClient& model, verify::Verifier& judge,
        store::TraceLog& to, Settings how, Hooks told);

  async::Task<Result<>> run(Source& source);

  // ---- loop.cpp: starts of work ----
  void read_one(Source& source);
  bool wants_more() const;
  bool ending() const { return stop.requested(); }
  void pump();
  void start(async::Task<> work);
  void break_off(Error error);
  bool kept(const Result<>& result);  // whether a call to the log succeeded; if not, breaks off the run
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
  std::size_t open_traces = 0;    // in work or waiting
  std::size_t entering = 0;       // of these: still searched in the log
  std::size_t working = 0;        // coroutines
  std::size_t answers = 0;        // since the start of this run
  std::size_t failed_in_row = 0;  // consecutive failed requests
  std::optional<llm::ChatFailure> last_failure;
  std::optional<Error> error;  // the first error that breaks off the run
  bool exhausted = false;      // the source has ended
  bool pumping = false;
  std::optional<Job> item;  // the task whose samples are being started
  std::size_t next_sample = 0;
  async::Event changed;
  async::Semaphore requests;  // in flight

  Checks checks;
  verify::SharedVerifier shared;
  TurnQueue queue;  // last member: its traces update the counters above at their destruction
};

}  // namespace kw::refine
