// The loop: tasks → model → verdict → feedback → the model again. Generation and verification overlap, there
// is no batch: each conversation goes on as soon as it can.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "async/loop.h"
#include "async/stop.h"
#include "base/result.h"
#include "llm/chat.h"
#include "refine/settings.h"
#include "store/trace_log.h"
#include "tasks/task_source.h"
#include "verify/verifier.h"

namespace kw::refine {

struct Hooks {
  // An answer was judged; turn is the last of trace.rounds.back().
  std::function<void(const Trace&, const Turn&)> judged;
  // No other turn will come. `resumed`: an earlier run had ended it already.
  std::function<void(const Trace&, bool resumed)> ended;
  std::function<void(const RowError&)> bad_task;
};

class Loop {
 public:
  Loop(async::Loop& loop, async::Stop& stop, llm::ChatClient& chat, verify::Verifier& verifier,
       store::TraceLog& log, Settings settings, Hooks hooks);
  ~Loop();

  // Until the source is exhausted and every conversation has ended, or a stop is requested: then requests are
  // dropped, and answers that are there already are kept. All work has ended when it returns.
  // An error where the source is broken (what is open is brought to its end first), where the store is, or
  // where one request after another goes unanswered; the last two request a stop with their cause, and what
  // is open stays open for the next run.
  async::Task<Result<>> run(TaskSource& source);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::refine
