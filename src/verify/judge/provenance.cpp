#include "verify/judge/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/async/loop.h"
#include "base/core/text.h"
#include "verify/judge/context.h"
#include "verify/judge/library_names.h"
#include "verify/workers/candidate_workers.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;

constexpr auto broker_limit = 120s;  // longer than BUDGET_S of _engine/broker.py

// One recording's launches.
struct Examined {
  std::uint32_t recording = 0;
  std::vector<Launch> launches = {};
  std::size_t own = 0;
  std::size_t triton = 0;
  std::vector<std::uint32_t> required = {};  // numbers of the own launches that --require accepts
  std::optional<DeviceTimeShare> share = {};
};

Examined examined(const Examination& of, std::uint32_t recording) {
  const wire::ReplayableT& facts = of.player.facts(recording);
  const bool triton_only = of.settings.require == "triton";
  Examined found{.recording = recording};
  for (std::uint32_t i = 0; i < facts.launches.size(); ++i) {
    const wire::LaunchT& from = *facts.launches[i];
    Launch& launch = found.launches.emplace_back(launch_of(from));
    const std::string_view origin = whose(code_of(from), of.origins);
    launch.whose = origin;
    launch.block = from.block;
    const bool own = is_own(origin, of.origins);
    const bool triton = origin == "candidate";
    if (own) ++found.own;
    if (triton) ++found.triton;
    if (triton || (own && !triton_only)) found.required.push_back(i);
  }
  return found;
}

// None where nothing took time.
std::optional<DeviceTimeShare> device_time_share(const std::vector<Launch>& launches,
                                                 const Origins& origins) {
  DeviceTimeShare share;
  double all_ms = 0;
  for (const Launch& each : launches) {
    const double time_ms = each.time_ms.value_or(0);
    const std::string_view origin = *each.whose;
    double& part = origin == "candidate"     ? share.triton
                   : origin == "library"     ? share.library
                   : is_own(origin, origins) ? share.native
                                             : share.unattested;
    part += time_ms;
    all_ms += time_ms;
  }
  if (all_ms <= 0) return {};
  for (double* part : {&share.triton, &share.native, &share.library, &share.unattested}) *part /= all_ms;
  return share;
}

async::Task<std::optional<Ended>> time_each(const Examination& of, Examined& found, int passes = 1) {
  if (found.launches.empty()) co_return std::nullopt;
  auto times_ms = co_await launch_times(of.player, found.recording, passes);
  if (!times_ms) co_return co_await of.player.broken_while_timed(times_ms.error());
  for (std::size_t i = 0; i < std::min(found.launches.size(), times_ms->size()); ++i)
    found.launches[i].time_ms = (*times_ms)[i];
  found.share = device_time_share(found.launches, of.origins);
  co_return std::nullopt;
}

constexpr int passes_to_compare = 3;  // a time that other work on the device delayed must not decide

// The times of the reference's launches, which are measured once. None: they are not known. Like every
// failure of the reference's replays, one here is not the candidate's fault.
async::Task<Outcome<TimedLaunches>> reference_launches(ReferenceReplays::Found& reference) {
  if (!reference.player || !reference.launch_ms) co_return TimedLaunches{};
  const wire::ReplayableT& facts = reference.player->facts(0);
  if (reference.launch_ms->empty()) {
    auto times_ms = co_await launch_times(*reference.player, 0, passes_to_compare);
    if (!times_ms) {
      auto words = words_of(times_ms.error());
      reference.player.reset();
      reference.why_not = words.value_or("");
      if (!words) co_return std::unexpected(words.error());
      co_return TimedLaunches{};
    }
    *reference.launch_ms = std::move(*times_ms);
  }
  TimedLaunches launches;
  if (reference.launch_ms->size() != facts.launch_count || facts.launches.size() != facts.launch_count)
    co_return launches;  // not all of them are known
  for (std::size_t i = 0; i < facts.launches.size(); ++i)
    launches.push_back(timed_launch(*facts.launches[i], (*reference.launch_ms)[i]));
  co_return launches;
}

TimedLaunches library_launches(const Examination& of, const Examined& recording) {
  const wire::ReplayableT& facts = of.player.facts(recording.recording);
  TimedLaunches launches;
  for (std::size_t i = 0; i < recording.launches.size(); ++i)
    if (const Launch& each = recording.launches[i]; each.whose == "library")
      launches.push_back(timed_launch(*facts.launches[i], each.time_ms.value_or(0)));
  return launches;
}

// Copies and fills by the driver, whose times are not known.
std::size_t copies_of(const wire::ReplayableT& facts) {
  return facts.operations - std::min(facts.operations, facts.launch_count);
}

// Whether it makes launches of the reference, and no copy less.
bool may_wrap(const Examination& of, const Examined& recording) {
  if (!of.reference.player ||
      copies_of(of.player.facts(recording.recording)) < copies_of(of.reference.player->facts(0)))
    return false;
  return std::ranges::any_of(recording.launches, [&](const Launch& each) {
    return of.reference.cubins.contains(each.cubin_sha256.value_or(""));
  });
}

// A recording that wraps the reference.
struct Wrapping {
  const Examined* recording = nullptr;
  ReferenceShares shares = {};
};

// A first measurement that wraps the reference is made again, more precisely.
async::Task<Outcome<std::optional<Wrapping>>> wrapping_of(const Examination& of, Examined& recording) {
  using Found = std::optional<Wrapping>;
  if (!may_wrap(of, recording)) co_return Found{};
  auto reference = co_await reference_launches(of.reference);
  if (!reference) co_return std::unexpected(reference.error());
  auto shares = shares_of_reference(*reference, library_launches(of, recording));
  if (!shares || !wraps_reference(*shares)) co_return Found{};
  if (auto ended = co_await time_each(of, recording, passes_to_compare); ended)
    co_return std::unexpected(*ended);
  shares = shares_of_reference(*reference, library_launches(of, recording));
  if (!shares || !wraps_reference(*shares)) co_return Found{};
  co_return Wrapping{&recording, *shares};
}

async::Task<Outcome<std::optional<Wrapping>>> find_wrapping(const Examination& of,
                                                            std::vector<Examined>& recordings) {
  for (Examined& each : recordings)
    if (auto found = co_await wrapping_of(of, each); !found || *found) co_return found;
  co_return std::optional<Wrapping>{};
}

// Without some launches the others may fault, which proves nothing.
async::Task<std::expected<CheckOutcome, Ended>> replay_without(Player& player, std::uint32_t recording,
                                                               std::vector<std::uint32_t> launches) {
  wire::ReplayT how;
  how.slot = recording;
  how.skip = std::move(launches);
  for (int draw = 0; draw < most_decoy_draws; ++draw) {
    auto played = co_await player.play(how);
    if (!played && was_stopped(played.error().refusal)) co_return std::unexpected<Ended>(Stopped{});
    if (!played) co_return CheckOutcome::failed;
    auto judged = co_await player.judge(*played, true);
    if (!judged) co_return CheckOutcome::failed;
    if (!judged->right) co_return CheckOutcome::wrong;
    auto zeros = co_await player.judge_zeros(*played);
    if (!zeros) co_return CheckOutcome::failed;
    if (!zeros->right) co_return CheckOutcome::right;
  }
  co_return CheckOutcome::not_run;  // zeros are right on all of these inputs, so a right result proves
                                    // nothing
}

// The recordings begin with the least favourable one; one in which the required launches are decoys decides.
async::Task<> look_for_decoys(Player& player, const std::vector<Examined>& recordings, Provenance& found) {
  for (const Examined& each : recordings) {
    auto outcome = co_await replay_without(player, each.recording, each.required);
    if (!outcome) {
      found.ended = outcome.error();
      co_return;
    }
    if (found.decoy_check.outcome != CheckOutcome::failed) found.decoy_check.outcome = *outcome;
    if (*outcome != CheckOutcome::right) continue;
    found.decoy_check.outcome = CheckOutcome::right;
    found.decoy = true;
    found.launches = each.launches;
    found.device_time_share = each.share;
    co_return;
  }
}

// A candidate may call the library beside its own kernels, such as to compare: its result is right without
// the library's launches then.
async::Task<> take_wrapping(const Examination& of, const Wrapping& wrapping, Provenance& found) {
  const Examined& recording = *wrapping.recording;
  std::vector<std::uint32_t> library;
  for (std::uint32_t i = 0; i < recording.launches.size(); ++i)
    if (recording.launches[i].whose == "library") library.push_back(i);
  auto outcome = co_await replay_without(of.player, recording.recording, std::move(library));
  if (!outcome) found.ended = outcome.error();
  if (!outcome || *outcome == CheckOutcome::right || *outcome == CheckOutcome::not_run) co_return;
  found.wraps_reference = true;
  found.launches = recording.launches;
  found.device_time_share = recording.share;
  found.findings.push_back(fmt::format(
      "library kernels take {:.1f}% of the reference's device time, and the reference's kernels that are "
      "left out take {:.1f}%",
      100 * wrapping.shares.by_library, 100 * wrapping.shares.left_out));
}

}  // namespace

LaunchedCode code_of(const wire::LaunchT& launch) {
  return {launch.cubin_sha256, launch.code, launch.name};
}

std::string_view whose(const LaunchedCode& code, const Origins& origins) {
  if (origins.library.contains(code.cubin_sha256)) return "library";
  if (origins.attested.contains(code.cubin_sha256)) return "candidate";
  if (origins.census && origins.census->has(code.key)) return "library";
  if (code.key != 0 && origins.built.contains(code.key)) return "native";
  return is_named_like_a_library(code.kernel, origins.native_kernels) ? "library" : "unattested";
}

bool needs_census(const Player& player, const Origins& origins) {
  for (std::size_t recording = 0; recording < player.tapes(); ++recording)
    for (const auto& launch : player.facts(recording).launches)
      if (const std::string_view origin = whose(code_of(*launch), origins);
          origin == "unattested" || origin == "native")
        return true;
  return false;
}

bool is_own(std::string_view origin, const Origins& origins) {
  return origin == "candidate" || origin == "native" || (origin == "unattested" && origins.native_code);
}

Launch launch_of(const wire::LaunchT& from) {
  Launch launch;
  launch.name = to_plain_text(from.name);
  launch.cubin_sha256 = from.cubin_sha256;
  launch.grid = from.grid;
  if (from.registers >= 0) launch.registers = from.registers;
  if (from.spills >= 0) launch.spills = from.spills;
  if (from.shared_bytes >= 0) launch.shared_bytes = from.shared_bytes;
  return launch;
}

namespace {

// The cubins of all launches; of more than fit a message, the first.
std::vector<std::string> launched_cubins(const Player& player) {
  constexpr std::size_t most = 400;
  std::set<std::string> found;
  for (std::size_t recording = 0; recording < player.tapes(); ++recording)
    for (const auto& launch : player.facts(recording).launches)
      if (found.size() < most) found.insert(launch->cubin_sha256);
  return {found.begin(), found.end()};
}

}  // namespace

// The coroutine shares all that it needs.
std::shared_ptr<Attesting> start_attesting(Context& context, std::shared_ptr<const Tape> tape,
                                           const Player& player) {
  auto attesting = std::make_shared<Attesting>(context.loop);
  if (!context.servers.broker) {
    attesting->done.set();
    return attesting;
  }
  wire::AttestT wanted;
  wanted.capability = player.facts(0).compute_capability;
  wanted.wanted = launched_cubins(player);
  auto ask = [](std::shared_ptr<Attesting> to, std::shared_ptr<const Tape> of,
                std::shared_ptr<engine::ForkServer> broker, engine::Limits limits,
                wire::AttestT question) -> async::Task<> {
    try {
      to->answer = co_await engine::attested(std::move(broker), std::move(limits), of->recorded.kernels.get(),
                                             std::move(question), async::Deadline::in(broker_limit));
    } catch (const std::exception& error) {
      to->answer = std::unexpected(engine::NoAttestation{error.what(), false});
    }
    to->done.set();
  };
  async::spawn(context.loop,
               ask(attesting, std::move(tape), context.servers.broker, context.limits, std::move(wanted)));
  return attesting;
}

LaunchList recorded_launches(const Player& player) {
  LaunchList list;
  for (std::size_t recording = 0; recording < player.tapes(); ++recording) {
    const wire::ReplayableT& facts = player.facts(recording);
    for (const auto& from : facts.launches) {
      EvidenceLaunch& launch = list.launches.emplace_back();
      launch.recording = recording;
      if (from->operation >= 0) launch.position = static_cast<std::size_t>(from->operation);
      if (from->stream >= 0) launch.stream = static_cast<std::size_t>(from->stream);
      launch.source = FactSource::replay;
      launch.name = to_plain_text(from->name);
      launch.grid = from->grid;
      launch.block = from->block;
    }
    list.left_out += facts.launch_count - std::min<std::size_t>(facts.launch_count, facts.launches.size());
  }
  return list;
}

namespace {

// The recordings are in their order.
void add_origins(LaunchList& list, const std::vector<Examined>& recordings) {
  std::size_t next = 0;
  for (const Examined& each : recordings)
    for (const Launch& launch : each.launches) {
      list.launches[next].whose = launch.whose;
      list.launches[next++].time_ms = launch.time_ms;
    }
}

}  // namespace

async::Task<Provenance> find_provenance(const Examination& of) {
  Provenance found;
  found.launch_list = recorded_launches(of.player);
  const bool timed = of.settings.timing_trials > 0;
  std::vector<Examined> recordings;
  for (std::uint32_t i = 0; i < of.player.tapes(); ++i) recordings.push_back(examined(of, i));
  for (Examined& each : recordings)
    if (timed && !found.ended) found.ended = co_await time_each(of, each);
  add_origins(found.launch_list, recordings);
  std::ranges::sort(recordings, {}, [](const Examined& each) {
    return std::tuple(each.required.size(), each.share.value_or(DeviceTimeShare{}).triton, each.recording);
  });
  const Examined& least = recordings.front();
  found.launches = least.launches;
  found.device_time_share = least.share;
  found.own_launches = std::ranges::min(recordings, {}, &Examined::own).own;
  found.triton_launches = std::ranges::min(recordings, {}, &Examined::triton).triton;
  for (const Examined& each : recordings)
    if (each.share) found.triton_share = std::min(found.triton_share.value_or(1), each.share->triton);
  // Under --require any, neither finding would change the verdict.
  if (least.required.empty() || of.settings.require == "any") co_return found;
  if (found.ended) co_return found;
  Outcome<std::optional<Wrapping>> wrapping;
  if (timed) wrapping = co_await find_wrapping(of, recordings);
  if (!wrapping) found.ended = wrapping.error();
  if (!found.ended) co_await look_for_decoys(of.player, recordings, found);
  if (!found.ended && !found.decoy && *wrapping) co_await take_wrapping(of, **wrapping, found);
  co_return found;
}

}  // namespace kw::verify
