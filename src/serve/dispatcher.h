// Queue: waiting evaluations, by priority, then by arrival. Dispatcher: starts them on the verifier and
// reports their ends. It judges equal work once for all its evaluations: see verify/api/shared_verifier.h.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "serve/entries.h"
#include "serve/runtime.h"
#include "verify/api/shared_verifier.h"

namespace kw::service {

// Queue: waiting evaluations, by priority, then by arrival.
class Queue {
 public:
  void push(const EntryPtr& entry);
  // The next one; null if none waits.
  EntryPtr pop();
  // Ignores an evaluation that is not in the queue.
  void remove(const Entry& entry);
  // Removes all evaluations of this work that may share a verdict.
  std::vector<EntryPtr> take_equal(const std::string& work_key);
  std::vector<EntryPtr> take_all();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The number of evaluations before it.
  std::size_t ahead_of(const Entry& entry) const;

 private:
  using InOrder = std::map<std::int64_t, EntryPtr>;
  void forget(const Entry& entry);

  std::map<int, InOrder, std::greater<>> by_priority_;
  std::unordered_map<std::string, InOrder> by_work_;  // entries that may share a verdict
  std::size_t size_ = 0;
};

// Dispatcher: starts evaluations of the queue on the verifier and reports their ends. Judges equal work once
// for all its evaluations: see verify/api/shared_verifier.h.
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
