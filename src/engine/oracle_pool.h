// Oracles serve task after task; a pool keeps those that live, since a GPU context costs more than most
// tasks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/semaphore.h"
#include "engine/fork_server.h"
#include "engine/oracle.h"

namespace kw::engine {

class OraclePool {
 public:
  struct Options {
    std::size_t size = 1;
    int device = -1;  // N of /dev/nvidiaN
    std::vector<std::string> environment = {};
    Limits limits;
    unsigned tasks_before_renewal = 64;  // what a reference leaves behind unseen does not pile up
  };

  // Exclusive use of one oracle. Where it is not given back its process is killed and its place is free.
  class Taken {
   public:
    Taken() = default;
    explicit operator bool() const { return oracle_ != nullptr; }
    Oracle& operator*() const { return *oracle_; }
    Oracle* operator->() const { return oracle_.get(); }

   private:
    friend class OraclePool;
    async::Semaphore::Place place_;
    std::unique_ptr<Oracle> oracle_;
    unsigned tasks_ = 0;  // that it served before
  };

  // The server is looked up at each spawn, since one that died is replaced.
  OraclePool(async::Loop& loop, const std::shared_ptr<ForkServer>& server, Options options)
      : server_(server), options_(std::move(options)), places_(loop, options_.size) {}

  // One that knows the task is preferred.
  async::Task<Result<Taken>> take(std::string task_key, async::Deadline deadline);
  async::Task<> give_back(Taken taken);
  // A fresh process in the place of one that was ended. The place is kept: whoever waits for a lease would
  // otherwise wait for those who wait for an oracle.
  async::Task<Result<>> renew(Taken& taken, async::Deadline deadline);
  // Ends those that nobody uses, with all the device memory that they keep.
  async::Task<> end_idle();
  async::Task<> end();

 private:
  async::Task<Result<std::unique_ptr<Oracle>>> spawn(async::Deadline deadline);

  const std::shared_ptr<ForkServer>& server_;
  Options options_;
  async::Semaphore places_;
  std::vector<Taken> idle_;  // without a place
};

}  // namespace kw::engine
