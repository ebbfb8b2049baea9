#include "verify/oracle_side.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/limits.h"
#include "verify/protocol.h"
#include "verify/slots.h"

namespace kw::verify {

using async::Deadline;

namespace {

constexpr std::uint32_t certificate_sets = 5;
constexpr std::uint64_t most_kept_arena_bytes = std::uint64_t{256} << 20;  // of a task that is not at hand

std::unexpected<Ended> refused(Stage stage, engine::Refusal refusal) {
  return std::unexpected<Ended>(OracleRefusal{stage, std::move(refusal)});
}

}  // namespace

std::chrono::milliseconds OracleSide::limit(std::chrono::milliseconds at_most) const {
  return std::min(at_most, settings_.timeout);
}

std::string OracleSide::key() const {
  return task_key(job_.task, settings_, halvings_);
}

async::Task<Outcome<>> OracleSide::take() {
  auto taken = co_await context_.oracles.take(task_key(job_.task, settings_, 0), Deadline::in(spawn_limit));
  if (!taken) co_return could_not_start(Stage::prepare, taken.error(), stop_);
  oracle_ = std::move(*taken);
  oracle_->worker().heed(&stop_);
  co_return Outcome<>{};
}

async::Task<> OracleSide::end_process() {
  co_await oracle_->end();
}

async::Task<Outcome<>> OracleSide::renew() {
  retired_ = true;
  if (auto renewed = co_await context_.oracles.renew(oracle_, Deadline::in(spawn_limit)); !renewed)
    co_return could_not_start(Stage::prepare, renewed.error(), stop_);
  oracle_->worker().heed(&stop_);
  co_return Outcome<>{};
}

async::Task<> OracleSide::give_back() {
  if (!oracle_) co_return;
  oracle_->worker().heed(&context_.stop);
  co_await context_.oracles.give_back(std::move(oracle_));
}

wire::PrepareT OracleSide::request_for(std::uint64_t max_bytes, std::uint32_t halvings) const {
  const std::string content = task_content(job_.task);
  wire::PrepareT request;
  request.task_key = task_key(job_.task, settings_, halvings);
  request.entry_point = job_.task.entry_point;
  request.input_shapes = job_.task.input_shapes;
  request.precision = settings_.precision;
  request.tf32 = settings_.tf32;
  request.move_weights = settings_.move_weights;
  // Per task, not per candidate, so that an oracle can keep what it prepared.
  request.init_seed = context_.seeds.of(content);
  for (std::uint32_t set = 0; set < certificate_sets; ++set)
    request.certificate_seeds.push_back(context_.seeds.of(fmt::format("{}#{}", content, set)));
  request.tolerance = std::make_unique<wire::ToleranceT>();
  request.tolerance->name = settings_.tolerance.name;
  request.tolerance->rtol = settings_.tolerance.rtol;
  request.tolerance->atol = settings_.tolerance.atol;
  request.max_bytes = max_bytes;
  request.halvings = halvings;
  return request;
}

// The player of another task's reference would fill the device.
void OracleSide::forget_large_reference(const std::string& key) {
  if (auto kept = std::static_pointer_cast<KeptReference>(oracle_->kept))
    if (kept->key != key && kept->player->arena_bytes() > most_kept_arena_bytes) oracle_->kept.reset();
}

async::Task<Outcome<>> OracleSide::prepare(std::uint64_t max_bytes, std::uint32_t halvings) {
  wire::PrepareT request = request_for(max_bytes, halvings);
  forget_large_reference(request.task_key);
  auto task = co_await oracle_->prepare(std::move(request), job_.task.reference_code,
                                        Deadline::in(limit(prepare_limit)));
  if (!task) co_return refused(Stage::prepare, std::move(task.error()));
  facts_ = std::move(task->facts);
  call_spec_ = std::move(task->call_spec);
  auto bytes = read_memory_file(call_spec_, std::size_t{64} << 20);
  auto spec = bytes ? wire::decode_call_spec(*bytes) : std::unexpected(bytes.error());
  if (!spec) co_return std::unexpected<Ended>(OurFault{Stage::prepare, spec.error()});
  spec_ = std::move(*spec);
  halvings_ = halvings;
  co_return Outcome<>{};
}

async::Task<Outcome<OracleSide::Drawn>> OracleSide::draw(std::uint32_t trial) {
  Drawn drawn;
  drawn.seed = context_.seeds.next();
  wire::DrawT request;
  request.trial = trial;
  request.seed = drawn.seed;
  request.slot = candidate_slot;
  auto arena = co_await oracle_->draw(std::move(request), Deadline::in(limit(prepare_limit)));
  if (!arena) co_return refused(Stage::prepare, std::move(arena.error()));
  drawn.arena = std::move(*arena);
  co_return drawn;
}

async::Task<Outcome<wire::JudgedT>> OracleSide::judge(std::uint32_t trial, std::uint64_t seed,
                                                      std::unique_ptr<wire::ValueT> outputs) {
  wire::JudgeT request;
  request.trial = trial;
  request.seed = seed;
  request.outputs = std::move(outputs);
  auto judged = co_await oracle_->judge(std::move(request), Deadline::in(limit(judge_limit)));
  if (!judged) co_return refused(Stage::judge, std::move(judged.error()));
  co_return std::move(*judged);
}

async::Task<Outcome<wire::JudgedT>> OracleSide::judge_outputs(std::uint64_t seed,
                                                              std::unique_ptr<wire::ValueT> outputs) {
  wire::JudgeT request;
  request.seed = seed;
  request.slot = candidate_slot;
  request.outputs = std::move(outputs);
  request.outputs_only = true;
  auto judged = co_await oracle_->judge(std::move(request), Deadline::in(limit(judge_limit)));
  if (!judged) co_return refused(Stage::judge, std::move(judged.error()));
  co_return std::move(*judged);
}

async::Task<Outcome<wire::TimedT>> OracleSide::time_reference(wire::TimeReferenceT request,
                                                              std::chrono::milliseconds at_most) {
  auto timed = co_await oracle_->time_reference(std::move(request), Deadline::in(limit(at_most)));
  if (!timed) co_return refused(Stage::time, std::move(timed.error()));
  co_return std::move(*timed);
}

}  // namespace kw::verify
