// Oracles serve task after task; a pool keeps those that live, since a GPU context costs more than most
// tasks.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
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

  // The server is looked up at each spawn, since one that died is replaced.
  OraclePool(async::Loop& loop, const std::shared_ptr<ForkServer>& server, Options options)
      : loop_(loop), server_(server), options_(std::move(options)) {}

  // Exclusive use of one oracle, given back by give_back; one that knows the task is preferred.
  async::Task<Result<std::unique_ptr<Oracle>>> take(std::string task_key, async::Deadline deadline);
  async::Task<> give_back(std::unique_ptr<Oracle> oracle);
  // A fresh process in the place of one that was ended. The place is kept: whoever waits for a lease would
  // otherwise wait for those who wait for an oracle.
  async::Task<Result<>> renew(std::unique_ptr<Oracle>& oracle, async::Deadline deadline);
  // Ends those that nobody uses, with all the device memory that they keep.
  async::Task<> end_idle();
  async::Task<> end();

 private:
  void leave();
  async::Task<Result<std::unique_ptr<Oracle>>> spawn(async::Deadline deadline);

  struct Idle {
    std::unique_ptr<Oracle> oracle;
    unsigned tasks = 0;
  };

  async::Loop& loop_;
  const std::shared_ptr<ForkServer>& server_;
  Options options_;
  std::vector<Idle> idle_;
  std::vector<std::pair<Oracle*, unsigned>> tasks_;
  std::deque<std::shared_ptr<async::Event>> waiting_;
  std::size_t taken_ = 0;
};

}  // namespace kw::engine
