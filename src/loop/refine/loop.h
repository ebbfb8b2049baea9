// The loop: task → model → verdict → feedback → model. Generation and verification overlap without batches:
// each conversation continues as soon as it can.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/result.h"
#include "loop/model_client/chat.h"
#include "loop/refine/settings.h"
#include "loop/run_store/trace_log.h"
#include "loop/tasks/source.h"
#include "verify/api/verifier.h"

namespace kw::refine {

struct Hooks {
  // An answer was judged; it is the last turn of trace.rounds.back(). Traces hold no reasoning here: the log
  // has it.
  std::function<void(const Trace&, const Turn&)> judged;
  // The trace has ended. `resumed`: an earlier run had ended it.
  std::function<void(const Trace&, bool resumed)> ended;
  std::function<void(const RowError&)> bad_task;
};

class Loop {
 public:
  Loop(async::Loop& loop, async::Stop& stop, llm::ChatClient& chat, verify::Verifier& verifier,
       store::TraceLog& log, Settings settings, Hooks hooks);
  ~Loop();

  // Runs until the source is exhausted and every conversation has ended, or until a stop is requested: a stop
  // drops requests and keeps received answers. All work has ended when it returns.
  // Returns an error if the source fails (open traces are finished first), if the store fails, or if too many
  // requests in a row fail. The last two request a stop with their cause and leave open traces to the next
  // run.
  async::Task<Result<>> run(Source& source);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::refine
