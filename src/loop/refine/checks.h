// Checks of answers on threads beside the loop: a check parses the answer's code, and would hold up every
// stream while it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "base/async/semaphore.h"
#include "base/async/wait.h"
#include "base/async/workbench.h"
#include "loop/refine/prompt.h"

namespace kw::refine {

class Checks {
 public:
  using Check = std::function<Precheck(const std::string& code, bool cut_short)>;

  // Without threads the loop's own thread checks. Several threads call `check` at once.
  Checks(async::Loop& loop, std::size_t threads, Check check = check_before);

  // Checks begin in the order of the calls. Empty if a stop is requested while the call waits for a place. An
  // exception of the check becomes one of the call.
  async::Task<std::optional<Precheck>> of(std::string code, bool cut_short, async::Stop& stop);

 private:
  Check check_;
  async::Semaphore places_;  // with the threads or ready for them; all others can still be stopped
  std::optional<async::Workbench> threads_;  // destroyed first: ends the checks
};

}  // namespace kw::refine
