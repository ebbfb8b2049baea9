// Dispatcher: starts the evaluations of the queue on the verifier and reports their ends. It judges equal
// work once for all its evaluations: see verify/api/shared_verifier.h.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "serve/entries.h"
#include "serve/queue.h"
#include "serve/runtime.h"
#include "verify/api/shared_verifier.h"

namespace kw::service {

class Dispatcher {
 public:
  struct Hooks {
    std::function<bool()> may_start;  // asked before each start
    // An evaluation starts.
    std::function<void(const EntryPtr& entry)> started;
    // Its work has ended; without a verdict if it was stopped.
    std::function<void(const EntryPtr& entry, const verify::SharedVerifier::Share& share)> ended;
  };

  // All of them must outlive it.
  Dispatcher(const Spawner& spawn, Queue& queue, Hooks hooks)
      : spawn_(spawn), queue_(queue), hooks_(std::move(hooks)) {}

  void use(verify::SharedVerifier& verifier) { verifier_ = &verifier; }

  // Starts evaluations as far as the limits allow.
  void pump();
  // Joins it to equal running work; false if there is none, or if it requires a fresh verdict.
  bool join(const EntryPtr& entry);
  // Removes it from its work, and stops the work if no other evaluation shares it.
  static void leave(const EntryPtr& entry) { entry->share.reset(); }

  // The number of running works; several evaluations may share one.
  std::size_t running() const { return verifier_ == nullptr ? 0 : verifier_->under_way(); }
  // The number of an owner's running works, with those that are being stopped.
  std::size_t running_of(std::string_view owner) const;
  // Whether nothing runs and all ends were reported.
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
