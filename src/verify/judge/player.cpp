#include "verify/judge/player.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "verify/judge/context.h"
#include "verify/judge/oracle_side.h"
#include "verify/recording/limits.h"

namespace kw::verify {
namespace {

constexpr std::uint64_t alignment = 256;

std::uint64_t up(std::uint64_t value) {
  return (value + alignment - 1) / alignment * alignment;
}

class Placer {
 public:
  explicit Placer(const wire::CallSpecT& spec) : next_(up(spec.outputs_offset)), end_(spec.arena_bytes) {}

  Result<> place(wire::ValueT& value, std::vector<wire::OutputSpan>& spans) {
    if (value.kind == wire::ValueKind::tensor && value.tensor)
      if (auto done = place(*value.tensor, spans); !done) return done;
    for (auto& item : value.items)
      if (item)
        if (auto done = place(*item, spans); !done) return done;
    return {};
  }

 private:
  Result<> place(wire::TensorT& tensor, std::vector<wire::OutputSpan>& spans) {
    if (tensor.device != "cuda") return fail("an output lies on the host");
    std::uint64_t address = tensor.offset;
    tensor.offset = next_;
    if (tensor.bytes == 0) return {};
    // A runner that names more bytes than there are is stopped here, before sums can overflow.
    if (tensor.bytes > end_ || next_ > end_ - tensor.bytes)
      return fail(fmt::format("an output reaches over {} bytes, more than there is room for", tensor.bytes));
    spans.emplace_back(address, tensor.bytes, next_);
    next_ = up(next_ + tensor.bytes);
    return {};
  }

  std::uint64_t next_;
  std::uint64_t end_;
};

}  // namespace

Result<OutputPlaces> place_outputs(wire::ValueT outputs, const wire::CallSpecT& spec) {
  OutputPlaces places{std::move(outputs), {}};
  Placer placer(spec);
  if (auto done = placer.place(places.outputs, places.spans); !done) return std::unexpected(done.error());
  return places;
}

using async::Deadline;

Outcome<std::string> words_of(const ReplayFailure& trouble) {
  const engine::WorkerFailure& refusal = trouble.refusal;
  if (was_stopped(refusal)) return std::unexpected<Ended>(Stopped{});
  if (trouble.of == ReplayFailure::Of::oracle)
    return std::unexpected<Ended>(blame_task(refusal, Stage::replay));
  if (refusal.failed) return to_plain_text(refusal.failed->error);
  if (refusal.lost->why == engine::Lost::Why::deadline) return "its replay does not end";
  return "the replayer was lost: " + refusal.lost->detail;
}

std::optional<ErrorClass> class_of_break(const ReplayFailure& trouble) {
  if (trouble.of == ReplayFailure::Of::oracle) return {};
  const engine::WorkerFailure& refusal = trouble.refusal;
  if (!refusal.failed)
    return refusal.lost->why == engine::Lost::Why::deadline ? std::optional(ErrorClass::timeout)
                                                            : std::nullopt;
  auto error_class = from_string<ErrorClass>(refusal.failed->error_class);
  const bool kernels = error_class == ErrorClass::illegal_memory_access ||
                       error_class == ErrorClass::runtime_error ||
                       error_class == ErrorClass::out_of_resources;
  return kernels ? error_class : std::nullopt;
}

async::Task<Ended> Player::broken_while_timed(ReplayFailure trouble) {
  const auto words = words_of(trouble);
  if (!words) co_return words.error();
  const std::string error = "a replay that was right before broke while it was timed: " + *words;
  Blame blame = blame_infrastructure(Stage::time, Error{error, ""});
  blame.times_void = "a replay broke while it was timed";
  blame.doubt = doubt_about(trouble.refusal);
  const auto error_class = class_of_break(trouble);
  if (!error_class || tapes_.empty()) co_return blame;
  co_await end();  // the probe needs its memory
  Player probe(context_, oracle_, spec_, slot_, stop_);
  bool works = false;
  if (auto started = co_await probe.start(queues_)) {
    auto loaded = co_await probe.add(tapes_.front());
    works = loaded.has_value();
  }
  co_await probe.end();
  if (stop_.requested()) co_return Stopped{};
  if (!works) co_return blame;
  blame.status = Status::failed;
  blame.fault = Fault::kernel;
  blame.error_class = *error_class;
  co_return blame;
}

async::Task<Result<>> Player::start(Queues queues) {
  auto& workers = queues == Queues::one ? context_.replayers : context_.wide_replayers;
  auto worker = co_await workers.take(Deadline::in(spawn_limit));
  if (!worker) co_return std::unexpected(worker.error());
  (*worker)->heed(&stop_);
  replayer_ = std::make_unique<engine::Replayer>(std::move(*worker));
  queues_ = queues;
  co_return Result<>{};
}

async::Task<Result<>> Player::start_under(const engine::Tool& tool, std::chrono::milliseconds limit) {
  auto worker = co_await context_.wide_replayers.take_under(tool, Deadline::in(spawn_limit));
  if (!worker) co_return std::unexpected(worker.error());
  (*worker)->heed(&stop_);
  replayer_ = std::make_unique<engine::Replayer>(std::move(*worker));
  queues_ = Queues::many;
  load_limit_ = limit;
  co_return Result<>{};
}

async::Task<std::expected<std::string, std::string>> Player::conclude(std::chrono::milliseconds limit) {
  constexpr std::size_t most_bytes = std::size_t{4} << 20;
  auto report = co_await replayer_->conclude(Deadline::in(limit));
  const std::string printed = replayer_->printed();
  co_await end();
  if (!report) co_return std::unexpected(refusal_words(report.error()));
  if (!*report) co_return printed;  // a tool that does not start says so on its output
  auto text = read_memory_file(*report, most_bytes);
  if (!text) co_return std::unexpected(text.error().what);
  co_return *text + "\n" + printed;
}

async::Task<std::expected<engine::DrawnInputs, ReplayFailure>> Player::draw(Inputs inputs, bool mapped) {
  wire::DrawT request;
  request.seed = inputs.seed;
  request.poison_seed = inputs.poison_seed;
  request.family = std::move(inputs.family);
  request.reuse = inputs.reuse;
  request.slot = slot_;
  request.mapped = mapped;
  auto drawn = co_await oracle_.draw(std::move(request), Deadline::in(prepare_limit));
  if (!drawn) co_return std::unexpected(ReplayFailure{ReplayFailure::Of::oracle, std::move(drawn.error())});
  co_return std::move(*drawn);
}

async::Task<std::expected<void, ReplayFailure>> Player::add(std::shared_ptr<const Tape> tape) {
  auto drawn = co_await draw({.seed = context_.seeds.next()}, false);
  if (!drawn) co_return std::unexpected(std::move(drawn.error()));
  wire::LoadRecordingT request;
  request.slot = static_cast<std::uint32_t>(tapes_.size());
  request.arena_address = recording::arena_address;
  request.arena_bytes = spec_.arena_bytes;
  request.outputs_offset = spec_.outputs_offset;
  request.outputs = tape->places.spans;
  engine::Replayer::Files files{tape->recorded.recording.get(), drawn->arena.get(),
                                tape->recorded.state.get()};
  auto loaded = co_await replayer_->load(std::move(request), files, Deadline::in(load_limit_));
  if (!loaded)
    co_return std::unexpected(ReplayFailure{ReplayFailure::Of::replayer, std::move(loaded.error())});
  tapes_.push_back(std::move(tape));
  facts_.push_back(std::move(*loaded));
  co_return std::expected<void, ReplayFailure>{};
}

// Every replay has new inputs, also after a failed one.
async::Task<std::expected<Player::Played, ReplayFailure>> Player::play(wire::ReplayT how) {
  return play_on(std::move(how), fresh_inputs());
}

Player::Inputs Player::fresh_inputs() const {
  const std::uint64_t seed = context_.seeds.next();
  // A kernel sees the poison, and must not learn the seed of the inputs from it.
  return {seed, call_seed(seed)};
}

async::Task<std::expected<Player::Played, ReplayFailure>> Player::play_on(wire::ReplayT how, Inputs inputs) {
  return play_on(std::move(how), std::move(inputs), context_.settings.timeout);
}

async::Task<std::expected<Player::Played, ReplayFailure>> Player::play_on(wire::ReplayT how, Inputs inputs,
                                                                          std::chrono::milliseconds limit) {
  Played played;
  played.seed = inputs.seed;
  played.poison_seed = inputs.poison_seed;
  played.family = inputs.family;
  played.tape = how.slot;
  how.gap_key = inputs.poison_seed;
  const bool may_drop = !inputs.family.empty();
  auto drawn = co_await draw(std::move(inputs), true);
  if (!drawn) co_return std::unexpected(std::move(drawn.error()));
  played.drawn = std::move(drawn->facts);
  if (may_drop && !played.drawn.dropped.empty()) co_return played;
  auto began = async::SteadyClock::now();
  auto facts = co_await replayer_->replay(std::move(how), Deadline::in(limit));
  played.wall_ms = async::ms_since(began);
  if (!facts)
    co_return std::unexpected(
        ReplayFailure{ReplayFailure::Of::replayer, std::move(facts.error()), std::move(played.drawn)});
  played.facts = std::move(*facts);
  co_return played;
}

async::Task<std::expected<wire::JudgedT, ReplayFailure>> Player::judge(const Played& played,
                                                                       bool outputs_only) {
  wire::JudgeT request;
  request.seed = played.seed;
  request.slot = slot_;
  request.strided = true;
  request.family = played.family;
  request.outputs_only = outputs_only;
  request.digest = played.compared;
  request.outputs = std::make_unique<wire::ValueT>(tapes_[played.tape]->places.outputs);
  return judged(std::move(request));
}

async::Task<std::expected<wire::JudgedT, ReplayFailure>> Player::judge_zeros(const Played& played) {
  wire::JudgeT request;
  request.seed = played.seed;
  request.slot = slot_;
  request.outputs_only = true;
  request.zeros = true;
  return judged(std::move(request));
}

async::Task<std::expected<wire::JudgedT, ReplayFailure>> Player::judged(wire::JudgeT request) {
  auto judged = co_await oracle_.judge(std::move(request), Deadline::in(judge_limit));
  if (!judged) co_return std::unexpected(ReplayFailure{ReplayFailure::Of::oracle, std::move(judged.error())});
  co_return std::move(*judged);
}

bool Player::lacks_queues() const {
  return queues_ == Queues::one &&
         std::ranges::any_of(facts_, [](const wire::ReplayableT& each) { return each.streams > 1; });
}

async::Task<std::expected<void, std::string>> Player::resume() {
  if (auto started = co_await start(queues_); !started) co_return std::unexpected(started.error().what);
  facts_.clear();
  for (auto& tape : std::exchange(tapes_, {}))
    if (auto added = co_await add(std::move(tape)); !added)
      co_return std::unexpected(refusal_words(added.error().refusal));
  co_return std::expected<void, std::string>{};
}

async::Task<> Player::end() {
  if (replayer_) co_await replayer_->end();
  replayer_.reset();
}

}  // namespace kw::verify
