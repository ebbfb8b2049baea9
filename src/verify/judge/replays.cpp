#include "verify/judge/replays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/core/text.h"
#include "verify/judge/context.h"
#include "verify/judge/races.h"
#include "verify/recording/limits.h"

namespace kw::verify {

const ReferenceTapes::Entry* ReferenceTapes::find(const std::string& key) {
  auto found = std::ranges::find(entries_, key, &std::pair<std::string, Entry>::first);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front().second;
}

void ReferenceTapes::put(const std::string& key, Entry entry) {
  std::erase_if(entries_, [&](const auto& each) { return each.first == key; });
  entries_.emplace_front(key, std::move(entry));
  make_room();
}

void ReferenceTapes::make_room() {
  constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20;
  std::uint64_t state_bytes = 0;
  std::size_t keep = 0;
  for (const auto& [key, entry] : entries_) {
    std::uint64_t own = entry.tape ? entry.tape->recorded.facts.state_bytes : 0;
    state_bytes += (own + page_bytes - 1) / page_bytes * page_bytes;
    if (keep == most_kept || (keep > 0 && state_bytes > most_state_bytes)) break;
    ++keep;
  }
  entries_.resize(keep);
}

using async::Deadline;

namespace {

constexpr std::uint64_t most_kept_state_bytes = std::uint64_t{256} << 20;
constexpr std::size_t checks = 2;  // judged replays of a reference before its times count

}  // namespace

// In a process that has never run the candidate: loads, makes one warm-up call, and one under the recorder.
async::Task<ReferenceTapes::Entry> ReferenceReplays::record(bool compiled) {
  auto worker = co_await case_.context.runners.take(Deadline::in(spawn_limit));
  auto page = engine::ProgressPage::create();
  if (!worker || !page) co_return ReferenceTapes::Entry{nullptr, "no process for it could be started"};
  (*worker)->heed(&case_.stop);
  engine::Runner runner(std::move(*worker), std::move(*page));
  auto recorded = co_await recorded_by(runner, compiled);
  co_await runner.end();
  if (!recorded) co_return ReferenceTapes::Entry{nullptr, recorded.error()};
  wire::ValueT outputs = *recorded->facts.outputs;
  auto places = place_outputs(std::move(outputs), oracle_.spec());
  if (!places) co_return ReferenceTapes::Entry{nullptr, places.error().what};
  co_return ReferenceTapes::Entry{
      std::make_shared<const Tape>(Tape{std::move(*recorded), std::move(*places)}), ""};
}

async::Task<std::expected<engine::Recorded, std::string>> ReferenceReplays::recorded_by(
    engine::Runner& runner, bool compiled) {
  auto arena = co_await drawn();
  if (!arena) co_return std::unexpected(refusal_words(arena.error()));
  wire::OpenT open;
  open.mode = wire::Mode::cuda;
  wire::LoadT load;
  load.entry = oracle_.spec().entry_point;
  load.file_name = "reference.py";
  load.weights = wire::Weights::automatic;
  load.reference = true;
  load.tf32 = case_.settings.tf32;
  load.compiled = compiled;
  auto limit = std::chrono::seconds(compiled ? 120 : 60);
  auto opened = co_await runner.open(std::move(open), case_.job.task.reference_code, oracle_.call_spec(),
                                     arena->get(), Deadline::in(limit));
  if (!opened) co_return std::unexpected(refusal_words(opened.error()));
  auto loaded = co_await runner.load(std::move(load), Deadline::in(limit));
  if (!loaded) co_return std::unexpected(refusal_words(loaded.error()));
  wire::CallT call;
  call.seed = case_.context.seeds.next();
  auto returned = co_await runner.call(std::move(call), arena->get(), Deadline::in(limit));
  if (!returned) co_return std::unexpected(refusal_words(returned.error()));
  wire::RecordT record;
  record.seed = case_.context.seeds.next();
  record.input_address = recording::arena_address;
  auto recorded = co_await runner.record(std::move(record), arena->get(), Deadline::in(limit));
  if (!recorded) co_return std::unexpected(refusal_words(recorded.error()));
  co_return std::move(*recorded);
}

async::Task<std::expected<Fd, engine::WorkerFailure>> ReferenceReplays::drawn() {
  wire::DrawT request;
  request.seed = case_.context.seeds.next();
  request.slot = reference_slot;
  auto inputs =
      co_await oracle_.process().draw(std::move(request), Deadline::in(oracle_.limit(prepare_limit)));
  if (!inputs) co_return std::unexpected(std::move(inputs.error()));
  co_return std::move(inputs->arena);
}

// A replayer with this recording, whose replays are right.
async::Task<std::expected<std::shared_ptr<Player>, std::string>> ReferenceReplays::player_of(
    std::shared_ptr<const Tape> tape) {
  for (Queues queues : {Queues::one, Queues::many}) {
    auto player = std::make_shared<Player>(case_.context, oracle_.process(), oracle_.spec(), reference_slot,
                                           case_.context.stop);
    if (auto started = co_await player->start(queues); !started)
      co_return std::unexpected(started.error().what);
    std::string why_not = co_await checked(*player, tape);
    const bool lacks_queues = player->lacks_queues();
    if (why_not.empty() && !lacks_queues) co_return player;
    co_await player->end();
    if (!lacks_queues) co_return std::unexpected(std::move(why_not));
  }
  std::unreachable();  // with many queues none lacks
}

namespace {

// Has a replay run in the nth late order, counted over and over. nullptr: the order of the recording is not
// open.
const wire::LateOrderT* run_late(wire::ReplayT& how, const wire::ReplayableT& facts, std::size_t nth) {
  if (facts.late.empty()) return nullptr;
  const wire::LateOrderT* late = facts.late[nth % facts.late.size()].get();
  how.order = wire::Order::late;
  how.late_stream = late->stream;
  return late;
}

}  // namespace

// Judges replays. Returns the reason why they are wrong; empty: they are right.
async::Task<std::string> ReferenceReplays::checked(Player& player, std::shared_ptr<const Tape> tape) {
  if (auto added = co_await player.add(std::move(tape)); !added)
    co_return refusal_words(added.error().refusal);
  for (std::size_t check = 0; check < checks; ++check) {
    wire::ReplayT how;
    if (check > 0) run_late(how, player.facts(0), check - 1);
    auto played = co_await player.play(std::move(how));
    if (!played) co_return refusal_words(played.error().refusal);
    if (!played->facts.downloads_equal) co_return "what its host does depends on the inputs";
    auto judged = co_await player.judge(*played, true);
    if (!judged) co_return refusal_words(judged.error().refusal);
    if (!judged->right)
      co_return fmt::format("its replay gives other values: {}", to_plain_text(judged->error));
  }
  co_return std::string{};
}

namespace {

ReferenceReplays::Found found_with(const KeptReference& kept) {
  ReferenceReplays::Found found{.player = kept.player, .launch_ms = kept.launch_ms};
  for (const auto& launch : found.player->facts(0).launches) found.cubins.insert(launch->cubin_sha256);
  return found;
}

}  // namespace

async::Task<ReferenceReplays::Found> ReferenceReplays::eager() {
  const std::string key = oracle_.key();
  auto& kept = oracle_.process().kept;
  if (auto reference = std::static_pointer_cast<KeptReference>(kept); reference && reference->key == key)
    co_return found_with(*reference);
  kept.reset();
  const ReferenceTapes::Entry* known = case_.context.tapes.find(key);
  ReferenceTapes::Entry entry = known != nullptr ? *known : co_await record(false);
  Found found;
  if (entry.tape) {
    auto player = co_await player_of(entry.tape);
    if (player) {
      auto reference =
          std::make_shared<KeptReference>(key, std::move(*player), std::make_shared<std::vector<double>>());
      found = found_with(*reference);
      oracle_.process().kept = std::move(reference);
    } else {
      entry = {nullptr, player.error()};
    }
  }
  if (case_.stop.requested()) co_return found;  // an interrupted recording proves nothing about the reference
  found.why_not = entry.why_not;
  // Kept recordings hold their state in device memory, so those of large references serve this candidate
  // only.
  bool large = entry.tape && entry.tape->recorded.facts.state_bytes > most_kept_state_bytes;
  const bool lasts = doubt_about(entry.why_not).empty();  // a full device is no property of the reference
  if (!large && lasts && (known == nullptr || !entry.tape)) case_.context.tapes.put(key, std::move(entry));
  co_return found;
}

async::Task<ReferenceReplays::Found> ReferenceReplays::compiled() {
  const std::string key = oracle_.key() + "+compile";
  const ReferenceTapes::Entry* known = case_.context.tapes.find(key);
  ReferenceTapes::Entry entry = known != nullptr ? *known : co_await record(true);
  if (!case_.stop.requested() && doubt_about(entry.why_not).empty()) case_.context.tapes.put(key, entry);
  if (!entry.tape) co_return Found{.why_not = entry.why_not};
  auto player = co_await player_of(entry.tape);
  if (!player) co_return Found{.why_not = player.error()};
  co_return Found{.player = std::move(*player)};
}

Player& CandidateReplays::add_process() {
  return *processes_.emplace_back(
      std::make_unique<Player>(case_.context, oracle_.process(), oracle_.spec(), candidate_slot, case_.stop));
}

async::Task<Outcome<std::string>> CandidateReplays::load() {
  auto why_not = co_await load_with(Queues::one);
  if (!why_not || !why_not->empty() || !player().lacks_queues()) co_return why_not;
  co_await end();
  co_return co_await load_with(Queues::many);
}

async::Task<Outcome<std::string>> CandidateReplays::load_with(Queues queues) {
  Player& player = add_process();
  if (auto started = co_await player.start(queues); !started)
    co_return could_not_start(Stage::replay, started.error(), case_.stop);
  for (const auto& tape : tapes_)
    if (auto added = co_await player.add(tape); !added) co_return words_of(added.error());
  co_return std::string{};
}

async::Task<Outcome<std::string>> CandidateReplays::judge(std::uint32_t trials, std::size_t calls,
                                                          Evidence& seen) {
  // Every recording is replayed in the recorded order, and in each late one.
  const std::size_t each = tapes_.size();
  std::size_t least = each;
  for (std::uint32_t slot = 0; slot < each; ++slot)
    if (const std::size_t late = player().facts(slot).late.size(); late > 0)
      least = std::max(least, each * late + slot + 1);
  for (std::size_t k = 0; k < std::max<std::size_t>(trials, least); ++k)
    if (auto why_not = co_await judge_one(k, calls + k + 1, seen); !why_not || !why_not->empty())
      co_return why_not;
  co_return co_await check_own_memory(seen);
}

async::Task<Outcome<std::string>> CandidateReplays::judge_one(std::size_t k, std::size_t trials,
                                                              Evidence& seen) {
  wire::ReplayT how;
  how.slot = static_cast<std::uint32_t>(k % tapes_.size());
  const std::size_t recording = how.slot;
  const wire::LateOrderT* late = nullptr;
  if (k >= tapes_.size()) late = run_late(how, player().facts(how.slot), k / tapes_.size() - 1);
  how.guard = true;
  last_.how = how;
  auto played = co_await player().play(std::move(how));
  if (!played) co_return words_of(played.error());
  played->compared = true;
  longest_ms_ = std::max(longest_ms_, played->wall_ms);
  if (!played->facts.downloads_equal)
    co_return "what its host does depends on what it reads back from the device";
  if (!played->facts.overrun.empty())
    co_return std::unexpected<Ended>(
        Blame{Stage::replay, Status::failed, Fault::kernel, ErrorClass::out_of_bounds,
              "a kernel wrote outside all allocations, " + to_plain_text(played->facts.overrun)});
  auto judged = co_await player().judge(*played);
  if (!judged) co_return words_of(judged.error());
  if (judged->error_class == to_string(ErrorClass::out_of_bounds))
    co_return std::unexpected<Ended>(blame_result(*judged));
  if (judged->right) {
    last_.seed = played->seed;
    last_.poison_seed = played->poison_seed;
    last_.judged.digest = judged->digest;
    seen.judgements.push_back({.judged = std::move(*judged), .trials = trials, .recording = recording});
    co_return std::string{};
  }
  const std::string differs =
      fmt::format("its replay gives other values than its calls: {}", to_plain_text(judged->error));
  if (late == nullptr) co_return differs;
  auto blame = co_await RaceSearch(case_.context, player(), static_cast<std::uint32_t>(recording), *late)
                   .blame(*judged);
  if (!blame) co_return std::unexpected(blame.error());
  if (!*blame) co_return fmt::format("{} (in another order; nothing is proven: {})", differs, blame->error());
  seen.judgements.push_back({.judged = std::move(*judged), .recording = recording});
  co_return std::unexpected<Ended>(std::move(**blame));
}

async::Task<std::expected<CandidateReplays::Repeatable, ReplayFailure>> CandidateReplays::repeated(
    std::uint64_t poison_seed) {
  auto played = co_await player().play_on(last_.how, {last_.seed, poison_seed});
  if (!played) co_return std::unexpected(played.error());
  played->compared = true;
  auto judged = co_await player().judge(*played);
  if (!judged) co_return std::unexpected(judged.error());
  co_return Repeatable{{}, last_.seed, poison_seed, std::move(*judged)};
}

// Kernels that add in a varying order give varying results. Two results of equal chance pass here once in
// 2048 times.
async::Task<std::expected<bool, ReplayFailure>> CandidateReplays::are_reproducible(const Repeatable& other,
                                                                                   std::size_t& replays) {
  constexpr int rounds = 5;
  const std::array<const Repeatable*, 2> both{&last_, &other};
  for (int round = 0; round < rounds; ++round)
    for (const Repeatable* each : both) {
      auto again = co_await repeated(each->poison_seed);
      if (!again) co_return std::unexpected(again.error());
      ++replays;
      if (again->judged.digest != each->judged.digest) co_return false;
    }
  co_return true;
}

async::Task<Outcome<std::string>> CandidateReplays::check_own_memory(Evidence& seen) {
  // The poison's kind (NaN, zeros, plausible numbers) is the remainder by 3, so it differs as well.
  auto other = co_await repeated(last_.poison_seed + 1);
  if (!other) co_return words_of(other.error());
  AuditCheck check{"own_memory", CheckOutcome::right, 1};
  if (other->judged.right && other->judged.digest == last_.judged.digest) {
    seen.audits.push_back(std::move(check));
    co_return std::string{};
  }
  auto reproducible = co_await are_reproducible(*other, check.trials);
  if (!reproducible) co_return words_of(reproducible.error());
  check.outcome = *reproducible ? CheckOutcome::wrong : CheckOutcome::not_run;
  seen.audits.push_back(std::move(check));
  if (*reproducible)
    co_return std::unexpected<Ended>(Blame{
        Stage::replay, Status::incorrect, Fault::kernel, ErrorClass::out_of_bounds,
        "the result depends on memory that the kernels neither own nor have written: on the same inputs "
        "it changes with the bytes there, and only with them"});
  if (!other->judged.right)
    co_return fmt::format("its replay gives other values than its calls: {}",
                          to_plain_text(other->judged.error));
  co_return std::string{};
}

// A recording holds for other inputs as long as its host code saw what it saw when it was recorded.
async::Task<Outcome<FamilyAnswer>> CandidateReplays::family(FamilyQuestion asked) {
  if (!is_loaded()) {  // a family before this one broke its process
    co_await end();
    auto why_not = co_await load();
    if (!why_not) co_return std::unexpected(why_not.error());
    if (!why_not->empty()) co_return FamilyAnswer{.why_untried = std::move(*why_not)};
  }
  wire::ReplayT how;
  how.slot = next_family_++ % static_cast<std::uint32_t>(tapes_.size());
  how.guard = true;
  Player::Inputs inputs = player().fresh_inputs();
  inputs.family = std::move(asked.family);
  inputs.reuse = !asked.fresh;
  auto played =
      co_await player().play_on(std::move(how), std::move(inputs),
                                longest_wait({longest_ms_, least_replay_patience, case_.settings.timeout}));
  FamilyAnswer answer;
  if (!played) co_return co_await broken_on_family(std::move(played.error()));
  answer.drawn = played->drawn;
  if (!answer.drawn.dropped.empty()) co_return answer;
  if (!played->facts.downloads_equal) {
    answer.why_untried = "what its host does depends on what it reads back from the device";
    answer.took_another_way = true;
    co_return answer;
  }
  auto judged = co_await player().judge(*played);
  if (!judged) {
    auto words = words_of(judged.error());
    if (!words) co_return std::unexpected(words.error());
    answer.why_untried = std::move(*words);
    co_return answer;
  }
  answer.judged = std::move(*judged);
  co_return answer;
}

// Device code that is right on the task's own inputs, and faults or does not end on a family, is wrong there
// if the device works: a new process loads the recordings, and replays the families that follow.
async::Task<Outcome<FamilyAnswer>> CandidateReplays::broken_on_family(ReplayFailure trouble) {
  auto words = words_of(trouble);
  if (!words) co_return std::unexpected(words.error());
  const auto error_class = class_of_break(trouble);
  const Queues queues = player().queues();
  co_await end();
  auto why_not = co_await load_with(queues);
  if (!why_not) co_return std::unexpected(why_not.error());
  FamilyAnswer answer{.drawn = std::move(trouble.drawn), .was_patient = true};
  if (error_class && why_not->empty())
    answer.failure = Blame{.stage = Stage::replay,
                           .status = Status::failed,
                           .fault = Fault::kernel,
                           .error_class = *error_class,
                           .error = std::move(*words),
                           .doubt = doubt_about(trouble.refusal)};
  else
    answer.why_untried = std::move(*words);
  co_return answer;
}

async::Task<> CandidateReplays::end() {
  while (!processes_.empty()) {
    co_await processes_.back()->end();
    processes_.pop_back();
  }
}

}  // namespace kw::verify
