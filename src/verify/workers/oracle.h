// The oracle: it holds the reference, inputs and expected outputs, and compares outputs. A pool keeps the
// oracles of several references, one for each, since a GPU context costs more than most verdicts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/async/semaphore.h"
#include "verify/workers/fork_server.h"
#include "verify/workers/worker.h"

namespace kw::engine {

// The oracle: it holds the reference, inputs and expected outputs, and compares outputs.
struct PreparedTask {
  wire::PreparedT facts;
  Fd call_spec;  // for the runner
};

// Inputs that were drawn.
struct DrawnInputs {
  wire::DrawnT facts;
  Fd arena;  // none if it is mapped already, or `facts.dropped` says that nothing was drawn
};

class Oracle {
 public:
  explicit Oracle(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  async::Task<std::expected<PreparedTask, WorkerFailure>> prepare(wire::PrepareT request,
                                                                  std::string reference_code,
                                                                  async::Deadline deadline);

  // An arena with this trial's inputs and weights, and space for outputs. On a device each slot is one
  // arena. There is no descriptor if the request states that the arena is already mapped.
  async::Task<std::expected<DrawnInputs, WorkerFailure>> draw(wire::DrawT request, async::Deadline deadline);

  async::Task<std::expected<wire::JudgedT, WorkerFailure>> judge(wire::JudgeT request,
                                                                 async::Deadline deadline);

  async::Task<std::expected<wire::CertifiedT, WorkerFailure>> certify(wire::CertifyT request,
                                                                      async::Deadline deadline);

  async::Task<std::expected<wire::TimedT, WorkerFailure>> time_reference(wire::TimeReferenceT request,
                                                                         async::Deadline deadline);

  async::Task<> end();

  // Data of the oracle's user, kept from task to task.
  std::shared_ptr<void> kept;

  const std::string& text() const { return text_; }
  const std::string& task_key() const { return task_key_; }
  bool alive() const { return alive_; }
  // Whether it was lost, or said that it fails itself, after it had answered: while a reference ran in it.
  bool broke() const { return broke_; }
  Worker& worker() { return *worker_; }

 private:
  template <typename T>
  std::unexpected<WorkerFailure> refusal(std::expected<T, WorkerFailure>& answer);

  friend class OraclePool;

  std::unique_ptr<Worker> worker_;
  std::string text_;  // digest of the reference that it serves
  std::string task_key_;
  bool alive_ = true;
  bool broke_ = false;
};

// Pool of oracles. A reference's code may change anything in its process, so an oracle serves one reference
// only; it stays for the next candidates until another reference needs its place.
class OraclePool {
 public:
  struct Options {
    std::size_t size = 1;  // in use at once
    // Whether unused ones may be kept besides, for the next candidates of their references; empty: none.
    std::function<bool()> has_room = {};
    int device = -1;  // N of /dev/nvidiaN
    std::vector<std::string> environment = {};
    Limits limits;
    std::size_t spares = 0;                 // processes without a reference that are kept ready
    unsigned verdicts_before_renewal = 64;  // limits what a reference leaves behind in the process
  };

  // Exclusive use of one oracle. If it is not returned, its process is killed and its place is free.
  class Taken {
   public:
    Taken() = default;
    explicit operator bool() const { return oracle_ != nullptr; }
    Oracle& operator*() const { return *oracle_; }
    Oracle* operator->() const { return oracle_.get(); }

   private:
    friend class OraclePool;
    async::Semaphore::Place place_;
    std::shared_ptr<void> use_;  // counts it as in use
    std::unique_ptr<Oracle> oracle_;
    unsigned verdicts_ = 0;  // number that it served before
  };

  // Looks up the server at each spawn, since a dead server is replaced.
  OraclePool(async::Loop& loop, const std::shared_ptr<ForkServer>& server, Options options);

  // An oracle of this reference, by the digest `text`, if possible one that has the task loaded. Otherwise
  // unused ones give way to a fresh one. Of several waiters, one whose reference has an unused oracle goes
  // first, and one whose reference has only oracles in use goes last, since a second one costs a GPU context.
  // `start_limit` is that of a fresh process; the wait for a place has none.
  async::Task<Result<Taken>> take(std::string text, std::string task_key,
                                  std::chrono::milliseconds start_limit);
  async::Task<> give_back(Taken taken);
  // Replaces an ended process by a fresh one. The place stays reserved: otherwise a waiter for a lease would
  // wait for waiters for an oracle.
  async::Task<Result<>> renew(Taken& taken, async::Deadline deadline);
  // Ends unused oracles and frees their device memory.
  async::Task<> end_idle();
  async::Task<> end();

 private:
  class Waiting;

  async::Task<Result<std::unique_ptr<Oracle>>> spawn(std::string text, async::Deadline deadline);
  std::shared_ptr<void> used(const std::string& text);
  int rank(const std::string& text) const;
  std::vector<Taken>::iterator least_useful();
  bool must_evict() const;

  Options options_;
  SpareWorkers fresh_;
  async::Semaphore places_;
  std::vector<Taken> idle_;                       // without a place; the one unused for longest is first
  std::map<std::uint64_t, std::string> waiting_;  // texts by ticket
  std::shared_ptr<std::map<std::string, std::size_t>> in_use_;  // oracles by text
};

}  // namespace kw::engine
