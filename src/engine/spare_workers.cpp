#include "engine/spare_workers.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace kw::engine {

using namespace std::chrono_literals;

async::Task<Result<std::unique_ptr<Worker>>> SpareWorkers::fork(async::Deadline deadline) {
  std::shared_ptr<ForkServer> server = server_;
  SpawnRequest request;
  request.role = options_.role;
  request.device = options_.device;
  request.limits = options_.limits;
  request.environment = options_.environment;
  co_return co_await server->spawn(std::move(request), deadline);
}

async::Task<Result<std::unique_ptr<Worker>>> SpareWorkers::take(async::Deadline deadline) {
  while (!ready_.empty()) {
    std::unique_ptr<Worker> worker = std::move(ready_.front());
    ready_.pop_front();
    refill();
    if (worker->alive()) co_return worker;
  }
  refill();
  co_return co_await fork(deadline);
}

void SpareWorkers::refill() {
  while (!ended_ && ready_.size() + coming_ < options_.count) {
    ++coming_;
    boost::asio::co_spawn(loop_, add_one(), boost::asio::detached);
  }
}

// Where the fork fails there is no spare: whoever then asks is told why.
async::Task<> SpareWorkers::add_one() {
  auto worker = co_await fork(async::Deadline::in(30s));
  --coming_;
  if (worker && !ended_) ready_.push_back(std::move(*worker));
}

async::Task<> SpareWorkers::end() {
  ended_ = true;
  while (coming_ > 0) co_await async::sleep_until(async::Deadline::in(20ms));
  for (auto& worker : ready_) worker->kill();
  for (auto& worker : ready_) co_await worker->end();
  ready_.clear();
}

}  // namespace kw::engine
