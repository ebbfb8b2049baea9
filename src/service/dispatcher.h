// Dispatcher: keeps the verifier busy with what the queue holds. Equal work is judged once for all who wait
// for it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "async/stop.h"
#include "service/queue.h"
#include "service/spawner.h"
#include "verify/verifier.h"

namespace kw::service {

// One verification, and the evaluations that share in it.
struct Work {
  explicit Work(async::Loop& loop) : stop(loop) {}

  std::shared_ptr<const Job> job;
  std::string key;
  EntryPtr first;                 // whose job it is
  std::vector<EntryPtr> sharing;  // the first among them, until it is cancelled
  async::Stop stop;
};

class Dispatcher {
 public:
  struct Hooks {
    std::function<bool()> may_start;  // asked before each
    // An evaluation begins to run.
    std::function<void(const EntryPtr& entry)> started;
    // Nothing where it was stopped before there was a verdict.
    std::function<void(const std::shared_ptr<Work>& work, const std::optional<Verdict>& verdict)> judged;
  };

  // All of them must outlive it.
  Dispatcher(const Spawner& spawn, Queue& queue, Hooks hooks)
      : spawn_(spawn), queue_(queue), hooks_(std::move(hooks)) {}

  void use(verify::Verifier& verifier) { verifier_ = &verifier; }

  // Starts what may be started.
  void pump();
  // It shares in work that runs; false where none is equal, or where it wants a verdict of its own.
  bool join(const EntryPtr& entry);
  // It waits no longer for its work, which is stopped where nobody else does.
  void leave(const EntryPtr& entry);

  std::size_t running() const { return works_.size(); }
  void stop_all(const std::string& cause);

 private:
  void start(const EntryPtr& entry);
  void share(const std::shared_ptr<Work>& work, const EntryPtr& entry);
  async::Task<> run(std::shared_ptr<Work> work);

  const Spawner& spawn_;
  Queue& queue_;
  Hooks hooks_;
  verify::Verifier* verifier_ = nullptr;
  std::unordered_set<std::shared_ptr<Work>> works_;
  std::unordered_map<std::string, std::shared_ptr<Work>> by_key_;  // those that others may join
  bool pumping_ = false;
};

}  // namespace kw::service
