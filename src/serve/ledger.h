// Ledger: all evaluations from submission to their end. It connects queue, dispatcher and store, and
// implements the backend.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "serve/dispatcher.h"
#include "serve/entries.h"
#include "serve/evaluation.h"
#include "serve/runtime.h"
#include "serve/store.h"
#include "serve/telemetry.h"

namespace kw::service {

// Ids of its records are scoped (owners.h); submit() scopes those of jobs by the submission's owner.
class Ledger : public EvaluationBackend {
 public:
  struct Bounds {
    std::size_t queue = 10'000;
    std::size_t queue_bytes = std::size_t{1} << 30;
  };

  struct Hooks {
    std::function<bool()> may_judge;                                // whether the verifier works
    std::function<void(const std::optional<Error>& failed)> wrote;  // a write to the store ended
  };

  struct Parts {
    const Spawner& spawn;
    Store& store;
    const Clock& clock;
    Metrics& metrics;
  };

  // The parts must outlive it.
  Ledger(const Parts& parts, Bounds bounds, Hooks hooks);

  // Restores the evaluations of an earlier service.
  void restore(std::vector<OpenRow> rows);
  // Sets the verifier, which must outlive drain().
  void judge_with(verify::SharedVerifier& verifier);
  // Starts evaluations as far as the limits allow.
  void pump() { dispatcher_.pump(); }
  // Stops running evaluations and returns them to the queue.
  void stop_all(const std::string& cause) { dispatcher_.stop_all(cause); }

  async::Task<Answered<std::vector<Receipt>>> submit(std::vector<Submission> submissions) override;
  async::Task<Answered<std::vector<std::optional<EvaluationState>>>> find(
      std::vector<std::string> ids) override;
  async::Task<Answered<std::vector<std::optional<EvaluationState>>>> wait(std::vector<std::string> ids,
                                                                          async::Deadline deadline) override;
  async::Task<Answered<EndedPart>> ended(EndPlace after, std::size_t most) override;
  async::Task<Answered<std::optional<EvaluationState>>> cancel(std::string id, std::string cause) override;
  // As ended(), of this owner alone.
  async::Task<Answered<EndedPart>> ended_of(std::string owner, EndPlace after, std::size_t most);

  // Accepts and starts no more evaluations. Running ones may end until the deadline; then it stops them.
  // When it returns, all ended ones are in the store.
  async::Task<> drain(async::Deadline deadline);

  std::size_t queued() const { return queue_.size(); }
  std::size_t running() const { return dispatcher_.running(); }
  std::size_t watching() const { return watches_.size(); }

 private:
  class Reserved;
  using Entries = std::vector<EntryPtr>;

  // Submission.
  std::optional<ApiError> check_ids(const std::vector<Submission>& submissions) const;
  std::optional<ApiError> check_room(const std::vector<Submission>& submissions) const;
  std::size_t waiting_of(const std::string& owner) const;
  std::optional<ApiError> check_share(const std::vector<Submission>& submissions) const;
  void keep(const EntryPtr& entry);
  void lose(const Entry& entry);
  EntryPtr reserve(Submission submission, std::vector<NewRow>& rows);
  void admit(const EntryPtr& entry, KeptRow kept);
  async::Task<bool> until_admitted(EntryPtr entry);
  void drop(const EntryPtr& entry);
  void name_work(Entry& entry) const;
  void enter(const EntryPtr& entry);
  EntryPtr open_entry(const std::string& id) const;
  int seconds_until_room() const;

  // Ends of evaluations.
  void started(const EntryPtr& entry);
  void ended(const EntryPtr& entry, const verify::SharedVerifier::Share& share);
  void abandon(const EntryPtr& entry, const std::string& cause);
  async::Task<> answer_known(Entries waiting);
  EndRow ending(const EntryPtr& entry, State state);
  void write_end(Entries entries, std::vector<EndRow> rows);
  async::Task<> keep_writing(Entries entries, std::vector<EndRow> rows);
  void settle(const EntryPtr& entry, const EvaluationState& record);

  const Spawner& spawn_;
  Store& store_;
  const Clock& clock_;
  Metrics& metrics_;
  Bounds bounds_;
  Hooks hooks_;
  verify::Verifier* verifier_ = nullptr;
  std::unordered_map<std::string, EntryPtr> open_;
  // Evaluations that have not ended, and the size of their requests.
  struct Held {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  std::unordered_map<std::string, Held> held_by_;  // by owner
  std::size_t open_bytes_ = 0;
  std::size_t unsaved_ = 0;  // ends that are not yet on disk
  bool draining_ = false;
  bool closed_ = false;
  Shelf shelf_;
  Watches watches_;
  Queue queue_;
  Deadlines deadlines_;
  Dispatcher dispatcher_;
};

}  // namespace kw::service
