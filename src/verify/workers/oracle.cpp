#include "verify/workers/oracle.h"

#include <algorithm>
#include <utility>

#include "base/core/text.h"

namespace kw::engine {
namespace {

SpareWorkers::Options fresh_ones(const OraclePool::Options& options) {
  return {.count = options.spares,
          .role = Role::oracle,
          .device = options.device,
          .limits = options.limits,
          .environment = options.environment};
}

}  // namespace

template <typename T>
std::unexpected<WorkerFailure> Oracle::refusal(std::expected<T, WorkerFailure>& answer) {
  // An oracle that was lost or is broken is not asked again; one that refused its task remains usable.
  const WorkerFailure& why = answer.error();
  const bool stopped = why.lost && why.lost->why == Lost::Why::stopped;
  broke_ = broke_ || (why.lost ? !stopped : why.failed->error_class == "infrastructure");
  if (why.lost || broke_) alive_ = false;
  return std::unexpected(std::move(answer.error()));
}

async::Task<std::expected<PreparedTask, WorkerFailure>> Oracle::prepare(wire::PrepareT request,
                                                                        std::string reference_code,
                                                                        async::Deadline deadline) {
  auto source = memory_file("reference", reference_code);
  if (!source) co_return refused({Lost::Why::closed, source.error().what, {}});
  task_key_ = request.task_key;
  auto answer = co_await exchange<wire::PreparedT>(*worker_, wire::encode(std::move(request)),
                                                   {source->get()}, deadline);
  if (!answer) co_return refusal(answer);
  if (answer->fds.empty()) co_return refused({Lost::Why::malformed, "a prepared task without its call", {}});
  co_return PreparedTask{std::move(answer->message), std::move(answer->fds.front())};
}

async::Task<std::expected<Fd, WorkerFailure>> Oracle::draw(wire::DrawT request, async::Deadline deadline) {
  const bool mapped = request.mapped;
  auto answer = co_await exchange<wire::DrawnT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  if (mapped) co_return Fd();
  if (answer->fds.empty()) co_return refused({Lost::Why::malformed, "inputs without their arena", {}});
  co_return std::move(answer->fds.front());
}

async::Task<std::expected<wire::JudgedT, WorkerFailure>> Oracle::judge(wire::JudgeT request,
                                                                       async::Deadline deadline) {
  auto answer = co_await exchange<wire::JudgedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::TimedT, WorkerFailure>> Oracle::time_reference(wire::TimeReferenceT request,
                                                                               async::Deadline deadline) {
  auto answer = co_await exchange<wire::TimedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  co_return std::move(answer->message);
}

async::Task<> Oracle::end() {
  alive_ = false;
  kept.reset();
  co_await worker_->end();
}

OraclePool::OraclePool(async::Loop& loop, const std::shared_ptr<ForkServer>& server, Options options)
    : options_(std::move(options)),
      fresh_(loop, server, fresh_ones(options_)),
      places_(loop, options_.size) {}

async::Task<Result<OraclePool::Taken>> OraclePool::take(std::string text, std::string task_key,
                                                        async::Deadline deadline) {
  Taken taken;
  taken.place_ = co_await places_.take();
  if (!taken.place_) co_return fail("the wait for an oracle was cancelled");
  auto known = std::ranges::find_if(idle_, [&](const Taken& idle) { return idle->task_key() == task_key; });
  if (known == idle_.end())
    known = std::ranges::find_if(idle_, [&](const Taken& idle) { return idle->text() == text; });
  if (known != idle_.end()) {
    taken.oracle_ = std::move(known->oracle_);
    taken.verdicts_ = known->verdicts_;
    idle_.erase(known);
    co_return taken;
  }
  Taken evicted;
  if (places_.taken() + idle_.size() > options_.size + options_.kept) {
    evicted = std::move(idle_.front());
    idle_.erase(idle_.begin());
    evicted->worker().kill();  // its memory is freed while the fresh one starts
  }
  auto oracle = co_await spawn(std::move(text), deadline);
  if (evicted) co_await evicted->end();
  if (!oracle) co_return std::unexpected(oracle.error());
  taken.oracle_ = std::move(*oracle);
  co_return taken;
}

async::Task<Result<std::unique_ptr<Oracle>>> OraclePool::spawn(std::string text, async::Deadline deadline) {
  auto worker = co_await fresh_.take(deadline);
  if (!worker) co_return std::unexpected(worker.error());
  // It answers before it gets a reference: a process that fails from then on fails with the reference in it.
  auto there = co_await exchange<wire::ForgetT>(**worker, wire::encode(wire::ForgetT()), {}, deadline);
  if (!there) {
    const WorkerFailure& why = there.error();
    co_return fail("an oracle did not begin: " +
                   (why.failed ? to_plain_text(why.failed->error) : why.lost->detail));
  }
  auto oracle = std::make_unique<Oracle>(std::move(*worker));
  oracle->text_ = std::move(text);
  co_return oracle;
}

async::Task<Result<>> OraclePool::renew(Taken& taken, async::Deadline deadline) {
  auto fresh = co_await spawn(taken->text(), deadline);
  if (!fresh) co_return std::unexpected(fresh.error());
  taken.oracle_ = std::move(*fresh);
  taken.verdicts_ = 0;
  co_return Result<>{};
}

async::Task<> OraclePool::give_back(Taken taken) {
  ++taken.verdicts_;
  if (!taken->alive() || taken.verdicts_ >= options_.verdicts_before_renewal) {
    co_await taken->end();
    co_return;
  }
  const auto place = std::move(taken.place_);  // freed after the oracle is in idle_
  idle_.push_back(std::move(taken));
}

async::Task<> OraclePool::end_idle() {
  std::vector<Taken> idle = std::exchange(idle_, {});
  for (Taken& each : idle) each->worker().kill();  // in parallel: the end of a GPU context takes long
  for (Taken& each : idle) co_await each->end();
}

async::Task<> OraclePool::end() {
  co_await end_idle();
  co_await fresh_.end();
}

}  // namespace kw::engine
