#include "verify/judge/oracle_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/core/crypto.h"
#include "verify/judge/context.h"
#include "verify/judge/player.h"
#include "verify/judge/protocol.h"

namespace kw::verify {

using async::Deadline;

namespace {

constexpr std::uint32_t certificate_sets = 5;
// Small inputs may have large outputs: an outer product.
constexpr std::uint32_t halvings_for_memory = 4, most_halvings_for_memory = 16;
constexpr std::uint64_t large_task_bytes = std::uint64_t{1} << 30;  // of inputs, weights and outputs
// Copies of a task's inputs and outputs that an attempt holds at once: arenas, the reference's values in two
// precisions, temporaries of both sides, the state of replays. The oracle alone has held 3.5 (measured on an
// H200).
constexpr double buffers_of_a_task = 10;
constexpr int most_preparations = 3;
constexpr std::chrono::seconds version_limit{30};  // a reference may not end at sizes that its task never has

}  // namespace

std::uint64_t call_seed(std::uint64_t inputs_seed) {
  std::string message = "kernelwright call";
  for (int shift = 0; shift < 64; shift += 8) message += static_cast<char>(inputs_seed >> shift);
  const std::string digest = sha256_bytes(message);
  std::uint64_t value = 0;
  for (int at = 7; at >= 0; --at)
    value = value << 8 | static_cast<unsigned char>(digest[static_cast<std::size_t>(at)]);
  return value >> 1;  // torch takes signed seeds
}

std::chrono::milliseconds OracleSide::limit(std::chrono::milliseconds at_most) const {
  return std::min(at_most, case_.settings.timeout);
}

std::unexpected<Ended> OracleSide::refused_at(Stage stage, const engine::WorkerFailure& refusal,
                                              std::chrono::milliseconds at_most) const {
  const bool by_option = case_.settings.timeout < at_most;
  return std::unexpected<Ended>(
      blame_task(refusal, stage, by_option ? std::optional(case_.settings.timeout) : std::nullopt));
}

std::string OracleSide::key() const {
  return task_key(case_.job.task, case_.settings, halvings_);
}

async::Task<Outcome<>> OracleSide::take() {
  const Timeline::Span span(case_.row, "wait for an oracle");
  auto taken = co_await case_.context.oracles.take(task_content(case_.job.task),
                                                   task_key(case_.job.task, case_.settings, 0), spawn_limit);
  if (!taken) co_return could_not_start(Stage::prepare, taken.error(), case_.stop);
  oracle_ = std::move(*taken);
  oracle_->worker().heed(&case_.stop);
  co_return Outcome<>{};
}

async::Task<> OracleSide::end_process() {
  co_await oracle_->end();
}

async::Task<Outcome<>> OracleSide::renew() {
  retired_ = true;
  if (auto renewed = co_await case_.context.oracles.renew(oracle_, Deadline::in(spawn_limit)); !renewed)
    co_return could_not_start(Stage::prepare, renewed.error(), case_.stop);
  oracle_->worker().heed(&case_.stop);
  co_return Outcome<>{};
}

async::Task<> OracleSide::give_back() {
  if (!oracle_) co_return;
  oracle_->worker().heed(&case_.context.stop);
  co_await case_.context.oracles.give_back(std::move(oracle_));
}

wire::PrepareT OracleSide::request_for(std::uint64_t max_bytes, std::uint32_t halvings) const {
  const std::string content = task_content(case_.job.task);
  wire::PrepareT request;
  request.task_key = task_key(case_.job.task, case_.settings, halvings);
  request.entry_point = case_.job.task.entry_point;
  request.input_shapes = case_.job.task.input_shapes;
  request.precision = case_.settings.precision;
  request.tf32 = case_.settings.tf32;
  request.move_weights = case_.settings.move_weights;
  // Per task, not per candidate, so that an oracle can keep what it prepared.
  request.init_seed = case_.context.seeds.of(content);
  for (std::uint32_t set = 0; set < certificate_sets; ++set)
    request.certificate_seeds.push_back(case_.context.seeds.of(fmt::format("{}#{}", content, set)));
  request.tolerance = std::make_unique<wire::ToleranceT>();
  request.tolerance->name = case_.settings.tolerance.name;
  request.tolerance->rtol = case_.settings.tolerance.rtol;
  request.tolerance->atol = case_.settings.tolerance.atol;
  request.max_bytes = max_bytes;
  request.halvings = halvings;
  request.varied = varies_inputs();
  request.backward = case_.settings.backward;
  return request;
}

async::Task<Outcome<>> OracleSide::prepare(std::uint64_t max_bytes, std::uint32_t halvings) {
  StageTimer timer(case_, Stage::prepare);
  wire::PrepareT request = request_for(max_bytes, halvings);
  auto task = co_await oracle_->prepare(std::move(request), case_.job.task.reference_code,
                                        Deadline::in(limit(prepare_limit)));
  lacked_memory_ = !task && !doubt_about(task.error()).empty();
  if (!task) co_return refused_at(Stage::prepare, task.error(), prepare_limit);
  needed_bytes_ = task->facts.needed_bytes;
  if (needed_bytes_ > 0 && case_.settings.device == Device::cuda) co_return Outcome<>{};
  call_spec_ = std::move(task->call_spec);
  auto bytes = read_memory_file(call_spec_, std::size_t{64} << 20);
  auto spec = bytes ? wire::decode_call_spec(*bytes) : std::unexpected(bytes.error());
  if (!spec) co_return std::unexpected<Ended>(blame_infrastructure(Stage::prepare, spec.error()));
  facts_ = std::move(task->facts);
  spec_ = std::move(*spec);
  halvings_ = halvings;
  co_return Outcome<>{};
}

async::Task<Outcome<>> OracleSide::prepare_on_cpu() {
  const bool may_reduce = case_.settings.reduce_shapes;
  auto prepared = co_await prepare(may_reduce ? cpu_max_bytes : 0, 0);
  const Blame* first = prepared ? nullptr : std::get_if<Blame>(&prepared.error());
  const bool lacked_memory = first != nullptr && first->doubt.contains("no memory");
  for (std::uint32_t halvings = halvings_for_memory;
       !prepared && lacked_memory_ && may_reduce && oracle_->alive() && halvings <= most_halvings_for_memory;
       halvings += halvings_for_memory)
    prepared = co_await prepare(cpu_max_bytes, halvings);
  if (lacked_memory && !prepared)
    if (Blame* blame = std::get_if<Blame>(&prepared.error()))
      blame->error = fmt::format("the reference finds no memory within --memory, {} MiB: {}",
                                 case_.settings.memory_bytes >> 20, blame->error);
  co_return prepared;
}

namespace {

bool is_out_of_memory(const Ended& ended) {
  const auto* blame = std::get_if<Blame>(&ended);
  return blame != nullptr && blame->fault == Fault::infrastructure && blame->error.contains("out of memory");
}

std::size_t shares_needed(const Context& context, const DeviceShare& device, std::uint64_t moved_bytes) {
  if (context.device_bytes == 0) return device.size();
  const double share_bytes = static_cast<double>(context.device_bytes) / static_cast<double>(device.size());
  const double shares = std::ceil(buffers_of_a_task * static_cast<double>(moved_bytes) / share_bytes);
  return static_cast<std::size_t>(std::clamp(shares, 1.0, static_cast<double>(device.size())));
}

}  // namespace

bool OracleSide::is_large() const {
  return moved_bytes() > large_task_bytes;
}

// The shares that a preparation calls for; none: it can stay as it is.
std::optional<std::size_t> OracleSide::more_shares_for(const Outcome<>& prepared,
                                                       const DeviceShare& device) const {
  if (!prepared) return is_out_of_memory(prepared.error()) ? std::optional(device.size()) : std::nullopt;
  // Outputs are as large as inputs in most large tasks.
  if (needed_bytes_ > 0) return shares_needed(case_.context, device, 2 * needed_bytes_);
  return is_large() ? std::optional(shares_needed(case_.context, device, moved_bytes())) : std::nullopt;
}

async::Task<Outcome<>> OracleSide::prepare_on_gpu(DeviceShare& device) {
  for (int round = 0;; ++round) {
    auto prepared = co_await prepare(round == 0 && !device.has_all() ? large_task_bytes : 0, 0);
    const std::optional<std::size_t> shares = more_shares_for(prepared, device);
    const bool had_all = round > 0 && !prepared && device.has_all();
    if (!shares || had_all || round == most_preparations - 1) co_return prepared;
    retire();
    const bool is_complete = prepared && needed_bytes_ == 0;
    if (!is_complete) co_await end_process();
    const bool has_room = device.widen(*shares);
    if (!has_room) {
      if (is_complete) co_await end_process();
      co_await device.wait_for_several(*shares);
    }
    if (*shares > 1 || !prepared) co_await case_.context.oracles.end_idle();
    if (has_room && is_complete) co_return prepared;
    if (auto renewed = co_await renew(); !renewed) co_return renewed;
  }
}

async::Task<Outcome<wire::PreparedT>> OracleSide::prepare_version(std::string version,
                                                                  std::uint64_t max_bytes) {
  StageTimer timer(case_, Stage::prepare);
  wire::PrepareT request = request_for(max_bytes, halvings_);
  request.task_key += "@" + version;
  request.version = std::move(version);
  request.varied = true;
  request.certificate_seeds.clear();  // the certificate is about the task itself
  oracle_->kept.reset();              // a replayer has the arena mapped that ends now
  auto task = co_await oracle_->prepare(std::move(request), case_.job.task.reference_code,
                                        Deadline::in(limit(version_limit)));
  if (!task) co_return refused_at(Stage::prepare, task.error(), version_limit);
  if (!task->call_spec)
    co_return std::unexpected<Ended>(
        blame_infrastructure(Stage::prepare, Error{"a version of the task without its call", ""}));
  call_spec_ = std::move(task->call_spec);
  co_return std::move(task->facts);
}

async::Task<Outcome<wire::CertifiedT>> OracleSide::certify(std::size_t draws) {
  StageTimer timer(case_, Stage::judge);
  wire::CertifyT request;
  for (std::size_t at = 0; at < draws; ++at) request.seeds.push_back(case_.context.seeds.next());
  // The oracle limits its own time; the time limit of a candidate is not its.
  auto certified = co_await oracle_->certify(std::move(request), Deadline::in(prepare_limit));
  if (!certified) co_return refused_at(Stage::judge, certified.error(), {});
  co_return std::move(*certified);
}

async::Task<Outcome<OracleSide::Drawn>> OracleSide::draw(std::uint32_t trial, std::string family,
                                                         bool expanded) {
  StageTimer timer(case_, Stage::prepare);
  Drawn drawn;
  drawn.trial = trial;
  drawn.seed = case_.context.seeds.next();
  drawn.family = std::move(family);
  wire::DrawT request;
  request.trial = trial;
  request.seed = drawn.seed;
  request.slot = candidate_slot;
  request.family = drawn.family;
  request.expanded = expanded;
  auto inputs = co_await oracle_->draw(std::move(request), Deadline::in(limit(prepare_limit)));
  if (!inputs) co_return refused_at(Stage::prepare, inputs.error(), prepare_limit);
  drawn.arena = std::move(inputs->arena);
  drawn.facts = std::move(inputs->facts);
  co_return drawn;
}

async::Task<Outcome<wire::JudgedT>> OracleSide::judge(const Drawn& drawn,
                                                      std::unique_ptr<wire::ValueT> outputs) {
  StageTimer timer(case_, Stage::judge);
  wire::JudgeT request;
  request.trial = drawn.trial;
  request.seed = drawn.seed;
  request.family = drawn.family;
  request.outputs = std::move(outputs);
  co_return co_await judged(std::move(request));
}

async::Task<Outcome<wire::JudgedT>> OracleSide::judge_outputs(std::uint32_t trial, std::uint64_t seed,
                                                              std::unique_ptr<wire::ValueT> outputs) {
  wire::JudgeT request;
  request.trial = trial;
  request.seed = seed;
  request.slot = candidate_slot;
  request.outputs = std::move(outputs);
  request.outputs_only = true;
  return judged(std::move(request));
}

async::Task<Outcome<wire::JudgedT>> OracleSide::judge_zeros(std::uint32_t trial, std::uint64_t seed) {
  wire::JudgeT request;
  request.trial = trial;
  request.seed = seed;
  request.slot = candidate_slot;
  request.outputs_only = true;
  request.zeros = true;
  return judged(std::move(request));
}

async::Task<Outcome<wire::JudgedT>> OracleSide::judged(wire::JudgeT request) {
  auto judged = co_await oracle_->judge(std::move(request), Deadline::in(limit(judge_limit)));
  if (!judged) co_return refused_at(Stage::judge, judged.error(), judge_limit);
  co_return std::move(*judged);
}

async::Task<Outcome<wire::TimedT>> OracleSide::time_reference(wire::TimeReferenceT request,
                                                              std::chrono::milliseconds at_most) {
  auto timed = co_await oracle_->time_reference(std::move(request), Deadline::in(limit(at_most)));
  if (!timed) co_return refused_at(Stage::time, timed.error(), at_most);
  co_return std::move(*timed);
}

}  // namespace kw::verify
