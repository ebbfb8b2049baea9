// Ledger: the evaluations themselves, from submission to their end. It brings queue, dispatcher and store
// together, and is the desk at which the dialects ask.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "service/clock.h"
#include "service/deadlines.h"
#include "service/desk.h"
#include "service/dispatcher.h"
#include "service/metrics.h"
#include "service/queue.h"
#include "service/shelf.h"
#include "service/store.h"
#include "service/watch.h"

namespace kw::service {

class Ledger : public EvaluationDesk {
 public:
  struct Bounds {
    std::size_t queue = 10'000;
    std::size_t queue_bytes = std::size_t{1} << 30;
  };

  struct Hooks {
    std::function<bool()> may_judge;                                // the verifier works, as far as is known
    std::function<void(const std::optional<Error>& failed)> wrote;  // to the store, or could not
  };

  struct Parts {
    const Spawner& spawn;
    Store& store;
    const Clock& clock;
    Metrics& metrics;
  };

  // The parts must outlive it.
  Ledger(const Parts& parts, Bounds bounds, Hooks hooks);

  // Takes up what an earlier service left.
  void restore(std::vector<OpenRow> rows);
  // There is somebody to judge now; the verifier must outlive drain().
  void judge_with(verify::SharedVerifier& verifier);
  // Starts what may be started.
  void pump() { dispatcher_.pump(); }
  // What runs is stopped, and waits for its turn again.
  void stop_all(const std::string& cause) { dispatcher_.stop_all(cause); }

  async::Task<Answered<std::vector<Receipt>>> submit(std::vector<Submission> submissions) override;
  async::Task<Answered<std::vector<std::optional<Record>>>> find(std::vector<std::string> ids) override;
  async::Task<Answered<std::vector<std::optional<Record>>>> wait(std::vector<std::string> ids,
                                                                 async::Deadline deadline) override;
  async::Task<Answered<std::optional<Record>>> cancel(std::string id, std::string cause) override;

  // Nothing new is accepted or started. What runs may end until the deadline, and is stopped then. When this
  // ends, what has ended is in the store.
  async::Task<> drain(async::Deadline deadline);

  std::size_t queued() const { return queue_.size(); }
  std::size_t running() const { return dispatcher_.running(); }
  std::size_t watching() const { return watches_.size(); }

 private:
  class Reserved;
  using Entries = std::vector<EntryPtr>;

  // Submission.
  std::optional<Refusal> check_ids(const std::vector<Submission>& submissions) const;
  std::optional<Refusal> check_room(const std::vector<Submission>& submissions) const;
  EntryPtr reserve(Submission submission, std::vector<NewRow>& rows);
  void admit(const EntryPtr& entry, KeptRow kept);
  async::Task<bool> until_admitted(EntryPtr entry);
  void drop(const EntryPtr& entry);
  void name_work(Entry& entry) const;
  void enter(const EntryPtr& entry);
  EntryPtr open_entry(const std::string& id) const;
  int seconds_until_room() const;

  // What becomes of them.
  void started(const EntryPtr& entry);
  void ended(const EntryPtr& entry, const verify::SharedVerifier::Share& share);
  void abandon(const EntryPtr& entry, const std::string& cause);
  async::Task<> answer_known(Entries waiting);
  EndRow ending(const EntryPtr& entry, State state);
  void write_end(Entries entries, std::vector<EndRow> rows);
  async::Task<> keep_writing(Entries entries, std::vector<EndRow> rows);
  void settle(const EntryPtr& entry, const Record& record);

  const Spawner& spawn_;
  Store& store_;
  const Clock& clock_;
  Metrics& metrics_;
  Bounds bounds_;
  Hooks hooks_;
  verify::Verifier* verifier_ = nullptr;
  std::unordered_map<std::string, EntryPtr> open_;
  std::size_t open_bytes_ = 0;
  std::size_t unsaved_ = 0;  // ends that are on their way to the disk
  bool draining_ = false;
  bool closed_ = false;
  Shelf shelf_;
  Watches watches_;
  Queue queue_;
  Deadlines deadlines_;
  Dispatcher dispatcher_;
};

}  // namespace kw::service
