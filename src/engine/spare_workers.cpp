#include "engine/spare_workers.h"

#include "async/spawn.h"

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
    std::unique_ptr<Worker> worker = std::move(ready_.front().worker);
    ready_.pop_front();
    refill();
    if (worker->alive()) co_return worker;
  }
  refill();
  co_return co_await fork(deadline);
}

void SpareWorkers::refill() {
  if (options_.count == 0) return;
  // So many at most: a fork that fails at once has its place back before spawn() returns.
  for (std::size_t left = options_.count; left > 0 && !ended_; --left) {
    auto place = places_.try_take();
    if (!place) return;
    // Where the fork fails or throws there is no spare: whoever then asks forks one itself, and is told why.
    async::spawn(loop_, add_one(std::move(*place)), [](const std::exception_ptr&) {});
  }
}

async::Task<> SpareWorkers::add_one(async::Semaphore::Place place) {
  auto worker = co_await fork(async::Deadline::in(30s));
  if (worker && !ended_) ready_.push_back({std::move(place), std::move(*worker)});
}

async::Task<> SpareWorkers::end() {
  ended_ = true;
  for (Spare& spare : ready_) spare.worker->kill();
  for (Spare& spare : ready_) co_await spare.worker->end();
  ready_.clear();
  // With all places in hand no fork is under way.
  std::vector<async::Semaphore::Place> all;
  while (all.size() < options_.count) all.push_back(co_await places_.take());
}

}  // namespace kw::engine
