#include "verify/player.h"

#include <algorithm>

#include "recording/limits.h"
#include "verify/limits.h"

namespace kw::verify {

using async::Deadline;

async::Task<Result<>> Player::start(Queues queues) {
  auto& workers = queues == Queues::one ? context_.replayers : context_.wide_replayers;
  auto worker = co_await workers.take(Deadline::in(spawn_limit));
  if (!worker) co_return std::unexpected(worker.error());
  (*worker)->heed(&stop_);
  replayer_ = std::make_unique<engine::Replayer>(std::move(*worker));
  queues_ = queues;
  co_return Result<>{};
}

async::Task<std::expected<Fd, Trouble>> Player::draw(std::uint64_t seed, bool mapped) {
  wire::DrawT request;
  request.seed = seed;
  request.slot = slot_;
  request.mapped = mapped;
  auto arena = co_await oracle_.draw(std::move(request), Deadline::in(prepare_limit));
  if (!arena) co_return std::unexpected(Trouble{Trouble::Of::oracle, std::move(arena.error())});
  co_return std::move(*arena);
}

async::Task<std::expected<void, Trouble>> Player::add(std::shared_ptr<const Tape> tape) {
  auto arena = co_await draw(context_.seeds.next(), false);
  if (!arena) co_return std::unexpected(std::move(arena.error()));
  wire::LoadRecordingT request;
  request.slot = static_cast<std::uint32_t>(tapes_.size());
  request.arena_address = recording::arena_address;
  request.arena_bytes = spec_.arena_bytes;
  request.outputs_offset = spec_.outputs_offset;
  request.outputs = tape->places.spans;
  engine::Replayer::Files files{tape->recorded.recording.get(), arena->get(), tape->recorded.state.get()};
  auto loaded = co_await replayer_->load(std::move(request), files, Deadline::in(replay_load_limit));
  if (!loaded) co_return std::unexpected(Trouble{Trouble::Of::replayer, std::move(loaded.error())});
  tapes_.push_back(std::move(tape));
  facts_.push_back(std::move(*loaded));
  co_return std::expected<void, Trouble>{};
}

async::Task<std::expected<Player::Played, Trouble>> Player::play(wire::ReplayT how) {
  Played played;
  played.seed = context_.seeds.next();
  played.tape = how.slot;
  // Never a second time on the same inputs, whatever became of the first.
  auto arena = co_await draw(played.seed, true);
  if (!arena) co_return std::unexpected(std::move(arena.error()));
  auto began = async::SteadyClock::now();
  auto facts = co_await replayer_->replay(std::move(how), Deadline::in(context_.settings.timeout));
  played.wall_ms = async::ms_since(began);
  if (!facts) co_return std::unexpected(Trouble{Trouble::Of::replayer, std::move(facts.error())});
  played.facts = std::move(*facts);
  co_return played;
}

async::Task<std::expected<wire::JudgedT, Trouble>> Player::judge(const Played& played, bool outputs_only) {
  wire::JudgeT request;
  request.seed = played.seed;
  request.slot = slot_;
  request.strided = true;
  request.outputs_only = outputs_only;
  request.outputs = std::make_unique<wire::ValueT>(tapes_[played.tape]->places.outputs);
  auto judged = co_await oracle_.judge(std::move(request), Deadline::in(judge_limit));
  if (!judged) co_return std::unexpected(Trouble{Trouble::Of::oracle, std::move(judged.error())});
  co_return std::move(*judged);
}

bool Player::lacks_queues() const {
  return queues_ == Queues::one &&
         std::ranges::any_of(facts_, [](const wire::ReplayableT& each) { return each.streams > 1; });
}

async::Task<> Player::end() {
  if (replayer_) co_await replayer_->end();
  replayer_.reset();
}

}  // namespace kw::verify
