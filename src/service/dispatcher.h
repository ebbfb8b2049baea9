// Dispatcher: keeps the verifier busy with what the queue holds, and tells what becomes of it. Equal work is
// judged once for all who wait for it: see verify/shared_verifier.h.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "service/queue.h"
#include "service/spawner.h"
#include "verify/shared_verifier.h"

namespace kw::service {

class Dispatcher {
 public:
  struct Hooks {
    std::function<bool()> may_start;  // asked before each
    // An evaluation begins to run.
    std::function<void(const EntryPtr& entry)> started;
    // Its work has ended; without a verdict where that was stopped.
    std::function<void(const EntryPtr& entry, const verify::SharedVerifier::Share& share)> ended;
  };

  // All of them must outlive it.
  Dispatcher(const Spawner& spawn, Queue& queue, Hooks hooks)
      : spawn_(spawn), queue_(queue), hooks_(std::move(hooks)) {}

  void use(verify::SharedVerifier& verifier) { verifier_ = &verifier; }

  // Starts what may be started.
  void pump();
  // It shares in work that runs; false where none is equal, or where it wants a verdict of its own.
  bool join(const EntryPtr& entry);
  // It waits no longer for its work, which is stopped where nobody else does.
  static void leave(const EntryPtr& entry) { entry->share.reset(); }

  // Works, however many evaluations share in each.
  std::size_t running() const { return verifier_ == nullptr ? 0 : verifier_->under_way(); }
  // Nothing runs, and of all that ran the end has been told.
  bool is_idle() const { return waiting_ == 0; }
  void stop_all(const std::string& cause);

 private:
  void start(const EntryPtr& entry);
  async::Task<> until_ended(EntryPtr entry);

  const Spawner& spawn_;
  Queue& queue_;
  Hooks hooks_;
  verify::SharedVerifier* verifier_ = nullptr;
  std::size_t waiting_ = 0;  // coroutines
  bool pumping_ = false;
};

}  // namespace kw::service
