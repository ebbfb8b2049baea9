#include "verify/reference_replays.h"

#include <fmt/format.h>

#include "base/text.h"
#include "recording/limits.h"
#include "verify/limits.h"
#include "verify/slots.h"

namespace kw::verify {

using async::Deadline;

namespace {

constexpr std::uint64_t most_kept_state_bytes = std::uint64_t{256} << 20;
constexpr int checks = 2;  // replays of a reference that are judged before its times are believed

std::string words(const engine::Refusal& refusal) {
  if (refusal.failed) return to_plain_text(refusal.failed->error);
  return "its process was lost: " + refusal.lost->detail;
}

}  // namespace

// A process that has never run the candidate: load, one call to warm up, one under the recorder.
async::Task<ReferenceTapes::Entry> ReferenceReplays::record(bool compiled) {
  auto worker = co_await context_.runners.take(Deadline::in(spawn_limit));
  auto page = engine::ProgressPage::create();
  if (!worker || !page) co_return ReferenceTapes::Entry{nullptr, "no process for it could be started"};
  (*worker)->heed(&stop_);
  engine::Runner runner(std::move(*worker), std::move(*page));
  auto recorded = co_await recorded_by(runner, compiled);
  co_await runner.end();
  if (!recorded) co_return ReferenceTapes::Entry{nullptr, recorded.error()};
  wire::ValueT outputs = *recorded->facts.outputs;
  auto places = place_outputs(std::move(outputs), reference_.spec);
  if (!places) co_return ReferenceTapes::Entry{nullptr, places.error().what};
  co_return ReferenceTapes::Entry{
      std::make_shared<const Tape>(Tape{std::move(*recorded), std::move(*places)}), ""};
}

async::Task<std::expected<engine::Recorded, std::string>> ReferenceReplays::recorded_by(
    engine::Runner& runner, bool compiled) {
  auto arena = co_await drawn();
  if (!arena) co_return std::unexpected(words(arena.error()));
  wire::LoadT load;
  load.mode = wire::Mode::cuda;
  load.entry = reference_.spec.entry_point;
  load.file_name = "reference.py";
  load.weights = wire::Weights::automatic;
  load.reference = true;
  load.tf32 = reference_.tf32;
  load.compiled = compiled;
  auto limit = std::chrono::seconds(compiled ? 120 : 60);
  auto loaded = co_await runner.load(std::move(load), reference_.task.reference_code, reference_.call_spec,
                                     arena->get(), Deadline::in(limit));
  if (!loaded) co_return std::unexpected(words(loaded.error()));
  wire::CallT call;
  call.seed = context_.seeds.next();
  auto returned = co_await runner.call(std::move(call), arena->get(), Deadline::in(limit));
  if (!returned) co_return std::unexpected(words(returned.error()));
  wire::RecordT record;
  record.seed = context_.seeds.next();
  record.input_address = recording::arena_address;
  auto recorded = co_await runner.record(std::move(record), arena->get(), Deadline::in(limit));
  if (!recorded) co_return std::unexpected(words(recorded.error()));
  co_return std::move(*recorded);
}

async::Task<std::expected<Fd, engine::Refusal>> ReferenceReplays::drawn() {
  wire::DrawT request;
  request.seed = context_.seeds.next();
  request.slot = reference_slot;
  co_return co_await oracle_.draw(std::move(request), Deadline::in(reference_.draw_limit));
}

// A replayer with this recording, whose replays were found right. That of an earlier reference serves where
// there is one: a context costs more than most references, and these are not candidates.
async::Task<std::expected<std::shared_ptr<Player>, std::string>> ReferenceReplays::player_of(
    std::shared_ptr<const Tape> tape, std::shared_ptr<Player> earlier) {
  std::string why_not;
  Queues queues = Queues::one;
  for (bool done = false; !done;) {
    const bool fresh = earlier == nullptr;
    auto player = std::make_shared<Player>(context_, oracle_, reference_.spec, reference_slot, context_.stop);
    if (!fresh)
      player->take_over(*std::exchange(earlier, nullptr));
    else if (auto started = co_await player->start(queues); !started)
      co_return std::unexpected(started.error().what);
    why_not = co_await checked(*player, tape);
    const bool lacks_queues = player->lacks_queues();
    if (why_not.empty() && !lacks_queues) co_return player;
    co_await player->end();
    if (lacks_queues) queues = Queues::many;
    done = fresh && !lacks_queues;
  }
  co_return std::unexpected(std::move(why_not));
}

// Empty, or why not.
async::Task<std::string> ReferenceReplays::checked(Player& player, std::shared_ptr<const Tape> tape) {
  if (auto added = co_await player.add(std::move(tape)); !added) co_return words(added.error().refusal);
  for (int check = 0; check < checks; ++check) {
    wire::ReplayT how;
    if (check > 0 && player.facts(0).orders > 1) how.order = wire::Order::reversed;
    auto played = co_await player.play(std::move(how));
    if (!played) co_return words(played.error().refusal);
    if (!played->facts.downloads_equal) co_return "what its host does depends on the inputs";
    auto judged = co_await player.judge(*played, true);
    if (!judged) co_return words(judged.error().refusal);
    if (!judged->right)
      co_return fmt::format("its replay gives other values: {}", to_plain_text(judged->error));
  }
  co_return std::string{};
}

async::Task<ReferenceReplays::Found> ReferenceReplays::eager() {
  const std::string& key = reference_.key;
  std::shared_ptr<Player> earlier;
  if (auto kept = std::static_pointer_cast<KeptReference>(std::exchange(oracle_.kept, nullptr))) {
    if (kept->key == key) {
      Found found{.player = kept->player};
      oracle_.kept = std::move(kept);
      co_return found;
    }
    earlier = std::move(kept->player);
  }
  const ReferenceTapes::Entry* known = context_.tapes.find(key);
  ReferenceTapes::Entry entry = known != nullptr ? *known : co_await record(false);
  Found found;
  if (entry.tape) {
    auto player = co_await player_of(entry.tape, std::move(earlier));
    if (player) {
      context_.tapes.launched((*player)->facts(0));
      found.player = std::move(*player);
      oracle_.kept = std::make_shared<KeptReference>(key, found.player);
    } else {
      entry = {nullptr, player.error()};
    }
  }
  if (stop_.requested()) co_return found;  // what was cut short says nothing of the reference
  found.why_not = entry.why_not;
  // What is kept holds its state in device memory, that of large references for this one candidate only.
  bool large = entry.tape && entry.tape->recorded.facts.state_bytes > most_kept_state_bytes;
  if (!large && (known == nullptr || !entry.tape)) context_.tapes.put(key, std::move(entry));
  co_return found;
}

async::Task<ReferenceReplays::Found> ReferenceReplays::compiled() {
  const std::string key = reference_.key + "+compile";
  const ReferenceTapes::Entry* known = context_.tapes.find(key);
  ReferenceTapes::Entry entry = known != nullptr ? *known : co_await record(true);
  if (!stop_.requested()) context_.tapes.put(key, entry);
  if (!entry.tape) co_return Found{.why_not = entry.why_not};
  auto player = co_await player_of(entry.tape, nullptr);
  if (!player) co_return Found{.why_not = player.error()};
  co_return Found{.player = std::move(*player)};
}

}  // namespace kw::verify
