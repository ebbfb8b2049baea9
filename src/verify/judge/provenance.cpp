#include "verify/judge/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/async/loop.h"
#include "base/core/text.h"
#include "verify/judge/context.h"
#include "verify/workers/candidate_workers.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;

constexpr auto broker_limit = 120s;  // longer than BUDGET_S of _engine/broker.py

// One recording's launches.
struct Examined {
  std::uint32_t recording = 0;
  std::vector<Launch> launches = {};
  std::vector<std::uint32_t> own = {};  // numbers of launches
  std::optional<double> triton_share = {};
};

Examined examined(const wire::ReplayableT& facts, std::uint32_t recording, const Origins& origins) {
  Examined found{.recording = recording};
  for (std::uint32_t i = 0; i < facts.launches.size(); ++i) {
    const wire::LaunchT& from = *facts.launches[i];
    Launch& launch = found.launches.emplace_back(launch_of(from));
    const std::string_view origin = whose(code_of(from), origins);
    launch.whose = origin;
    launch.block = from.block;
    if (is_own(origin, origins)) found.own.push_back(i);
  }
  return found;
}

async::Task<std::optional<Ended>> time_each(Player& player, Examined& found) {
  if (found.launches.empty()) co_return std::nullopt;
  wire::ReplayT how;
  how.slot = found.recording;
  how.order = wire::Order::serial;
  how.each_launch = true;
  auto played = co_await player.play(std::move(how));
  if (!played) co_return co_await player.broken_while_timed(played.error());
  double all_ms = 0;
  double own_ms = 0;
  for (std::size_t i = 0; i < std::min(found.launches.size(), played->facts.launch_ms.size()); ++i) {
    Launch& launch = found.launches[i];
    launch.time_ms = std::max(0.0, played->facts.launch_ms[i]);
    all_ms += *launch.time_ms;
    if (launch.whose == "candidate") own_ms += *launch.time_ms;
  }
  if (all_ms > 0) found.triton_share = own_ms / all_ms;
  co_return std::nullopt;
}

// Without some launches the others may fault, which proves nothing.
async::Task<std::expected<CheckOutcome, Ended>> replay_without_own(Player& player, const Examined& of) {
  wire::ReplayT how;
  how.slot = of.recording;
  how.skip = of.own;
  auto played = co_await player.play(std::move(how));
  if (!played && was_stopped(played.error().refusal)) co_return std::unexpected<Ended>(Stopped{});
  if (!played) co_return CheckOutcome::failed;
  auto judged = co_await player.judge(*played, true);
  if (!judged) co_return CheckOutcome::failed;
  co_return judged->right ? CheckOutcome::right : CheckOutcome::wrong;
}

// The recordings begin with the least favourable one; one in which the own launches are decoys decides.
async::Task<> look_for_decoys(Player& player, const std::vector<Examined>& recordings, Provenance& found) {
  for (const Examined& each : recordings) {
    auto outcome = co_await replay_without_own(player, each);
    if (!outcome) {
      found.ended = outcome.error();
      co_return;
    }
    if (found.decoy_check.outcome != CheckOutcome::failed) found.decoy_check.outcome = *outcome;
    if (*outcome != CheckOutcome::right) continue;
    found.decoy_check.outcome = CheckOutcome::right;
    found.decoy = true;
    found.launches = each.launches;
    co_return;
  }
}

}  // namespace

LaunchedCode code_of(const wire::LaunchT& launch) {
  return {launch.cubin_sha256, launch.code};
}

std::string_view whose(const LaunchedCode& code, const Origins& origins) {
  if (origins.library.contains(code.cubin_sha256)) return "library";
  if (origins.attested.contains(code.cubin_sha256)) return "candidate";
  return origins.census && origins.census->has(code.key) ? "library" : "unattested";
}

bool needs_census(const Player& player, const Origins& origins) {
  for (std::size_t recording = 0; recording < player.tapes(); ++recording)
    for (const auto& launch : player.facts(recording).launches)
      if (whose(code_of(*launch), origins) == "unattested") return true;
  return false;
}

bool is_own(std::string_view origin, const Origins& origins) {
  return origin == "candidate" || (origin == "unattested" && origins.native_code);
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

async::Task<Provenance> find_provenance(Player& player, const Origins& origins, bool timed) {
  Provenance found;
  found.launch_list = recorded_launches(player);
  std::vector<Examined> recordings;
  for (std::uint32_t i = 0; i < player.tapes(); ++i)
    recordings.push_back(examined(player.facts(i), i, origins));
  for (Examined& each : recordings)
    if (timed && !found.ended) found.ended = co_await time_each(player, each);
  add_origins(found.launch_list, recordings);
  std::ranges::sort(recordings, {}, [](const Examined& each) {
    return std::tuple(each.own.size(), each.triton_share.value_or(0), each.recording);
  });
  const Examined& least = recordings.front();
  found.launches = least.launches;
  found.own_launches = least.own.size();
  for (const Examined& each : recordings)
    if (each.triton_share) found.triton_share = std::min(found.triton_share.value_or(1), *each.triton_share);
  if (found.own_launches > 0 && !found.ended) co_await look_for_decoys(player, recordings, found);
  co_return found;
}

}  // namespace kw::verify
