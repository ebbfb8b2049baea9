// Runners and replayers that stand ready before a candidate is there: on a GPU a context takes longer to make
// than most candidates run. Each still serves one candidate and dies.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "async/semaphore.h"
#include "engine/fork_server.h"

namespace kw::engine {

class SpareWorkers {
 public:
  struct Options {
    std::size_t count = 0;  // kept ready; 0: each is forked when it is asked for
    Role role = Role::runner;
    int device = -1;  // N of /dev/nvidiaN
    Limits limits;
    std::vector<std::string> environment = {};  // NAME=value, set in each
  };

  SpareWorkers(async::Loop& loop, const std::shared_ptr<ForkServer>& server, Options options)
      : loop_(loop), server_(server), options_(std::move(options)), places_(loop, options_.count) {}

  async::Task<Result<std::unique_ptr<Worker>>> take(async::Deadline deadline);
  async::Task<> end();

 private:
  async::Task<Result<std::unique_ptr<Worker>>> fork(async::Deadline deadline);
  void refill();
  async::Task<> add_one(async::Semaphore::Place place);

  struct Spare {
    async::Semaphore::Place place;
    std::unique_ptr<Worker> worker;
  };

  async::Loop& loop_;
  const std::shared_ptr<ForkServer>& server_;
  Options options_;
  async::Semaphore places_;  // of the spares that are ready or being forked
  std::deque<Spare> ready_;
  bool ended_ = false;
};

}  // namespace kw::engine
