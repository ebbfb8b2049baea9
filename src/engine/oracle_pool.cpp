#include "engine/oracle_pool.h"

#include <algorithm>
#include <utility>

namespace kw::engine {

async::Task<Result<std::unique_ptr<Oracle>>> OraclePool::take(std::string task_key,
                                                              async::Deadline deadline) {
  while (taken_ >= options_.size) {
    auto turn = std::make_shared<async::Event>(loop_);
    waiting_.push_back(turn);
    co_await turn->wait();
  }
  ++taken_;
  if (!idle_.empty()) {
    auto known =
        std::ranges::find_if(idle_, [&](const Idle& idle) { return idle.oracle->task_key() == task_key; });
    if (known == idle_.end()) known = idle_.begin();
    std::unique_ptr<Oracle> oracle = std::move(known->oracle);
    tasks_.emplace_back(oracle.get(), known->tasks);
    idle_.erase(known);
    co_return oracle;
  }
  auto oracle = co_await spawn(deadline);
  if (!oracle) {
    leave();
    co_return std::unexpected(oracle.error());
  }
  tasks_.emplace_back(oracle->get(), 0);
  co_return std::move(*oracle);
}

async::Task<Result<std::unique_ptr<Oracle>>> OraclePool::spawn(async::Deadline deadline) {
  SpawnRequest request;
  request.role = Role::oracle;
  request.device = options_.device;
  request.limits = options_.limits;
  request.environment = options_.environment;
  std::shared_ptr<ForkServer> server = server_;
  auto worker = co_await server->spawn(std::move(request), deadline);
  if (!worker) co_return std::unexpected(worker.error());
  co_return std::make_unique<Oracle>(std::move(*worker));
}

async::Task<Result<>> OraclePool::renew(std::unique_ptr<Oracle>& oracle, async::Deadline deadline) {
  auto fresh = co_await spawn(deadline);
  if (!fresh) co_return std::unexpected(fresh.error());
  auto entry = std::ranges::find(tasks_, oracle.get(), &std::pair<Oracle*, unsigned>::first);
  *entry = {fresh->get(), 0};
  oracle = std::move(*fresh);
  co_return Result<>{};
}

async::Task<> OraclePool::give_back(std::unique_ptr<Oracle> oracle) {
  auto entry = std::ranges::find(tasks_, oracle.get(), &std::pair<Oracle*, unsigned>::first);
  unsigned tasks = entry->second + 1;
  tasks_.erase(entry);
  if (oracle->alive() && tasks < options_.tasks_before_renewal)
    idle_.push_back({std::move(oracle), tasks});
  else
    co_await oracle->end();
  leave();
}

void OraclePool::leave() {
  --taken_;
  if (waiting_.empty()) return;
  waiting_.front()->set();
  waiting_.pop_front();
}

async::Task<> OraclePool::end_idle() {
  std::vector<Idle> idle = std::exchange(idle_, {});
  for (Idle& each : idle) each.oracle->worker().kill();  // all at once: a GPU context takes long to end
  for (Idle& each : idle) co_await each.oracle->end();
}

async::Task<> OraclePool::end() {
  co_await end_idle();
}

}  // namespace kw::engine
