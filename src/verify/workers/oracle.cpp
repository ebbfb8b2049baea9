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
  const std::uint64_t most_bytes = request.max_bytes;
  auto answer = co_await exchange<wire::PreparedT>(*worker_, wire::encode(std::move(request)),
                                                   {source->get()}, deadline);
  if (!answer) co_return refusal(answer);
  const std::uint64_t needed_bytes = answer->message.needed_bytes;
  if (most_bytes > 0 && needed_bytes > most_bytes) co_return PreparedTask{std::move(answer->message), Fd()};
  if (needed_bytes > 0)
    co_return refused({Lost::Why::malformed, "a task that is too large for no limit", {}});
  if (answer->fds.empty()) co_return refused({Lost::Why::malformed, "a prepared task without its call", {}});
  co_return PreparedTask{std::move(answer->message), std::move(answer->fds.front())};
}

async::Task<std::expected<DrawnInputs, WorkerFailure>> Oracle::draw(wire::DrawT request,
                                                                    async::Deadline deadline) {
  const bool mapped = request.mapped;
  const bool may_drop = !request.family.empty();
  auto answer = co_await exchange<wire::DrawnT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  DrawnInputs drawn{std::move(answer->message), Fd()};
  if (mapped || (may_drop && !drawn.facts.dropped.empty())) co_return drawn;
  if (answer->fds.empty()) co_return refused({Lost::Why::malformed, "inputs without their arena", {}});
  drawn.arena = std::move(answer->fds.front());
  co_return drawn;
}

async::Task<std::expected<wire::JudgedT, WorkerFailure>> Oracle::judge(wire::JudgeT request,
                                                                       async::Deadline deadline) {
  auto answer = co_await exchange<wire::JudgedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::CertifiedT, WorkerFailure>> Oracle::certify(wire::CertifyT request,
                                                                            async::Deadline deadline) {
  auto answer = co_await exchange<wire::CertifiedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
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

namespace {

// A place that all waiters may pass over the earliest one of them.
constexpr std::size_t patience_per_place = 4;
constexpr std::size_t most_kept = 64;

}  // namespace

OraclePool::OraclePool(async::Loop& loop, const std::shared_ptr<ForkServer>& server, Options options)
    : options_(std::move(options)),
      fresh_(loop, server, fresh_ones(options_)),
      places_(loop, options_.size),
      in_use_(std::make_shared<std::map<std::string, std::size_t>>()) {
  places_.rank_by([this](std::uint64_t ticket) { return rank(waiting_.at(ticket)); },
                  patience_per_place * options_.size);
}

// One that waits for a place, known by its text until the wait is over.
class OraclePool::Waiting {
 public:
  Waiting(OraclePool& pool, const std::string& text) : pool_(pool), ticket_(pool.places_.ticket()) {
    pool_.waiting_.emplace(ticket_, text);
  }
  ~Waiting() { pool_.waiting_.erase(ticket_); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  std::uint64_t ticket() const { return ticket_; }

 private:
  OraclePool& pool_;
  std::uint64_t ticket_;
};

int OraclePool::rank(const std::string& text) const {
  if (std::ranges::any_of(idle_, [&](const Taken& idle) { return idle->text() == text; })) return 0;
  return in_use_->contains(text) ? 2 : 1;
}

// A second oracle of a reference, if there is one; otherwise the one that was unused for longest.
std::vector<OraclePool::Taken>::iterator OraclePool::least_useful() {
  auto second = std::ranges::find_if(idle_, [&](const Taken& idle) {
    return in_use_->contains(idle->text()) || std::ranges::any_of(idle_, [&](const Taken& other) {
             return &other != &idle && other->text() == idle->text();
           });
  });
  return second != idle_.end() ? second : idle_.begin();
}

bool OraclePool::must_evict() const {
  if (places_.taken() + idle_.size() <= options_.size) return false;
  return !options_.has_room || idle_.size() >= most_kept || !options_.has_room();
}

async::Task<Result<OraclePool::Taken>> OraclePool::take(std::string text, std::string task_key,
                                                        std::chrono::milliseconds start_limit) {
  Taken taken;
  {
    const Waiting waiting(*this, text);
    taken.place_ = co_await places_.take(waiting.ticket());
  }
  if (!taken.place_) co_return fail("the wait for an oracle was cancelled");
  taken.use_ = used(text);
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
  if (!idle_.empty() && must_evict()) {
    auto least = least_useful();
    evicted = std::move(*least);
    idle_.erase(least);
    evicted->worker().kill();  // its memory is freed while the fresh one starts
  }
  auto oracle = co_await spawn(std::move(text), async::Deadline::in(start_limit));
  if (evicted) co_await evicted->end();
  if (!oracle) co_return std::unexpected(oracle.error());
  taken.oracle_ = std::move(*oracle);
  co_return taken;
}

// Counted until the pointer is gone.
std::shared_ptr<void> OraclePool::used(const std::string& text) {
  ++(*in_use_)[text];
  return {nullptr, [in_use = in_use_, text](void*) {
            if (--(*in_use)[text] == 0) in_use->erase(text);
          }};
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
  taken.use_.reset();
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
