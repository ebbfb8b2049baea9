#include "verify/candidate_replays.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "verify/slots.h"

namespace kw::verify {

namespace {

// What ends the verdict, where it was the oracle or Ctrl-C; else it is one more reason why this cannot be
// replayed.
Outcome<std::string> reason(const Trouble& trouble) {
  if (was_stopped(trouble.refusal)) return std::unexpected<Ended>(Stopped{});
  if (trouble.of == Trouble::Of::oracle)
    return std::unexpected<Ended>(OracleRefusal{Stage::replay, trouble.refusal});
  return replay_words(trouble.refusal);
}

bool take(Outcome<std::string> why_not, ReplayJudgements& said) {
  if (why_not)
    said.why_not = std::move(*why_not);
  else
    said.ended = std::move(why_not.error());
  return false;
}

}  // namespace

std::shared_ptr<Player> CandidateReplays::another() const {
  return std::make_shared<Player>(context_, oracle_.process(), oracle_.spec(), candidate_slot, stop_);
}

async::Task<Outcome<std::string>> CandidateReplays::load() {
  auto why_not = co_await load_with(Queues::one);
  if (!why_not || !why_not->empty() || !player_->lacks_queues()) co_return why_not;
  co_await end();
  co_return co_await load_with(Queues::many);
}

async::Task<Outcome<std::string>> CandidateReplays::load_with(Queues queues) {
  player_ = another();
  if (auto started = co_await player_->start(queues); !started)
    co_return could_not_start(Stage::replay, started.error(), stop_);
  for (const auto& tape : tapes_)
    if (auto added = co_await player_->add(tape); !added) co_return reason(added.error());
  co_return std::string{};
}

async::Task<ReplayJudgements> CandidateReplays::judge(std::uint32_t trials) {
  ReplayJudgements said;
  for (std::uint32_t k = 0; k < std::max(trials, static_cast<std::uint32_t>(tapes_.size())); ++k)
    if (!co_await judge_one(k, said)) break;
  co_return said;
}

async::Task<bool> CandidateReplays::judge_one(std::uint32_t k, ReplayJudgements& said) {
  wire::ReplayT how;
  how.slot = k % static_cast<std::uint32_t>(tapes_.size());
  const wire::ReplayableT& facts = player_->facts(how.slot);
  bool otherwise = facts.orders > 1 && k >= tapes_.size();
  how.order = otherwise ? wire::Order::reversed : wire::Order::recorded;
  how.guard = true;
  auto played = co_await player_->play(std::move(how));
  if (!played) co_return take(reason(played.error()), said);
  if (!played->facts.downloads_equal) {
    said.why_not = "what its host does depends on what it reads back from the device";
    co_return false;
  }
  if (!played->facts.overrun.empty()) {
    said.ended = Overrun{to_plain_text(played->facts.overrun)};
    co_return false;
  }
  auto judged = co_await player_->judge(*played);
  if (!judged) co_return take(reason(judged.error()), said);
  if (judged->right) {
    said.right.push_back(std::move(*judged));
    co_return true;
  }
  if (facts.unjoined > 0 && otherwise)
    said.ended = Unjoined{facts.unjoined, std::move(*judged)};
  else
    said.why_not =
        fmt::format("its replay gives other values than its calls: {}", to_plain_text(judged->error));
  co_return false;
}

async::Task<ReplaySamples> CandidateReplays::sample(const Settings& settings, DeviceShare& device,
                                                    std::shared_ptr<Player> reference) {
  ReplaySides sides{player_, std::move(reference), tapes_, [this] { return another(); }};
  ReplaySamples samples = co_await ReplayTimer(context_, settings, device, std::move(sides)).sample();
  beside_ = std::move(samples.beside);
  co_return samples;
}

async::Task<> CandidateReplays::end() {
  for (const auto& each : std::exchange(beside_, {})) co_await each->end();
  if (player_) co_await player_->end();
  player_.reset();
}

}  // namespace kw::verify
