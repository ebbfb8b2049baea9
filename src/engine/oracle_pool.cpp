#include "engine/oracle_pool.h"

#include <algorithm>
#include <utility>

namespace kw::engine {

async::Task<Result<OraclePool::Taken>> OraclePool::take(std::string task_key, async::Deadline deadline) {
  Taken taken;
  taken.place_ = co_await places_.take();
  if (!taken.place_) co_return fail("the wait for an oracle was cancelled");
  if (!idle_.empty()) {
    auto known = std::ranges::find_if(idle_, [&](const Taken& idle) { return idle->task_key() == task_key; });
    if (known == idle_.end()) known = idle_.begin();
    taken.oracle_ = std::move(known->oracle_);
    taken.tasks_ = known->tasks_;
    idle_.erase(known);
    co_return taken;
  }
  auto oracle = co_await spawn(deadline);
  if (!oracle) co_return std::unexpected(oracle.error());
  taken.oracle_ = std::move(*oracle);
  co_return taken;
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

async::Task<Result<>> OraclePool::renew(Taken& taken, async::Deadline deadline) {
  auto fresh = co_await spawn(deadline);
  if (!fresh) co_return std::unexpected(fresh.error());
  taken.oracle_ = std::move(*fresh);
  taken.tasks_ = 0;
  co_return Result<>{};
}

async::Task<> OraclePool::give_back(Taken taken) {
  ++taken.tasks_;
  if (!taken->alive() || taken.tasks_ >= options_.tasks_before_renewal) {
    co_await taken->end();
    co_return;
  }
  const auto place = std::move(taken.place_);  // free once the oracle can be found
  idle_.push_back(std::move(taken));
}

async::Task<> OraclePool::end_idle() {
  std::vector<Taken> idle = std::exchange(idle_, {});
  for (Taken& each : idle) each->worker().kill();  // all at once: a GPU context takes long to end
  for (Taken& each : idle) co_await each->end();
}

async::Task<> OraclePool::end() {
  co_await end_idle();
}

}  // namespace kw::engine
