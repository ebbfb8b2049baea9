#include "verify/judge/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/async/loop.h"
#include "base/core/text.h"
#include "verify/judge/context.h"
#include "verify/workers/candidate_workers.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;

// Prefixes and parts of the mangled names of kernels of PyTorch and of its libraries.
constexpr std::array<std::string_view, 30> library_words{
    "at6native", "at4cuda",       "at_cuda",      "cutlass",     "cublas",      "cudnn",
    "cusolver",  "cusparse",      "cufft",        "ampere_",     "sm80_",       "sm90_",
    "nvjet",     "hopper_",       "volta_",       "turing_",     "maxwell_",    "cub3",
    "CUB_",      "thrust",        "splitKreduce", "gemv",        "gemmk1",      "flash",
    "fmha_",     "pytorch_flash", "triton_poi_",  "triton_red_", "triton_per_", "triton_tem_"};

constexpr auto broker_limit = 60s;

std::vector<Launch> launches_of(const wire::ReplayableT& facts, const Origins& origins) {
  std::vector<Launch> launches;
  for (const auto& from : facts.launches) {
    Launch& launch = launches.emplace_back(launch_of(*from));
    launch.whose = whose(from->name, from->cubin_sha256, origins);
    launch.block = from->block;
  }
  return launches;
}

async::Task<bool> time_each(Player& player, Provenance& found) {
  wire::ReplayT how;
  how.order = wire::Order::serial;
  how.each_launch = true;
  auto played = co_await player.play(std::move(how));
  if (!played) {
    found.ended = co_await player.broken_while_timed(played.error());
    co_return false;
  }
  double all_ms = 0;
  double own_ms = 0;
  for (std::size_t i = 0; i < std::min(found.launches.size(), played->facts.launch_ms.size()); ++i) {
    Launch& launch = found.launches[i];
    launch.time_ms = std::max(0.0, played->facts.launch_ms[i]);
    all_ms += *launch.time_ms;
    if (launch.whose == "candidate") own_ms += *launch.time_ms;
  }
  if (all_ms > 0) found.triton_share = own_ms / all_ms;
  co_return true;
}

// Without some launches the others may fault, which proves nothing.
async::Task<> replay_without_own(Player& player, Provenance& found) {
  wire::ReplayT how;
  for (std::uint32_t i = 0; i < found.launches.size(); ++i)
    if (found.launches[i].whose != "library") how.skip.push_back(i);
  found.own_launches = how.skip.size();
  if (how.skip.empty()) co_return;
  auto played = co_await player.play(std::move(how));
  found.decoy_check.outcome = CheckOutcome::failed;
  if (!played) {
    if (was_stopped(played.error().refusal)) found.ended = Stopped{};
    co_return;
  }
  auto judged = co_await player.judge(*played, true);
  if (!judged) co_return;
  found.decoy = judged->right;
  found.decoy_check.outcome = judged->right ? CheckOutcome::right : CheckOutcome::wrong;
}

}  // namespace

std::string_view whose(const std::string& kernel, const std::string& cubin_sha256, const Origins& origins) {
  bool jitted = origins.jitted.contains(kernel);
  if (jitted) return origins.attested.contains(cubin_sha256) ? "candidate" : "unattested";
  if (origins.library.contains(cubin_sha256)) return "library";
  if (std::ranges::any_of(library_words, [&](std::string_view word) { return kernel.contains(word); }))
    return "library";
  return origins.native_code ? "unattested" : "library";
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

// The coroutine shares all that it needs.
std::shared_ptr<Attesting> start_attesting(Context& context, std::shared_ptr<const Tape> tape,
                                           std::uint32_t capability) {
  auto attesting = std::make_shared<Attesting>(context.loop);
  if (!context.servers.broker) {
    attesting->done.set();
    return attesting;
  }
  auto ask = [](std::shared_ptr<Attesting> to, std::shared_ptr<const Tape> of,
                std::shared_ptr<engine::ForkServer> broker, engine::Limits limits,
                std::uint32_t compute_capability) -> async::Task<> {
    try {
      to->sha256 = co_await engine::attested(std::move(broker), std::move(limits), of->recorded.kernels.get(),
                                             compute_capability, async::Deadline::in(broker_limit));
    } catch (const std::exception&) {
      // Without an answer nothing is attested.
    }
    to->done.set();
  };
  async::spawn(context.loop,
               ask(attesting, std::move(tape), context.servers.broker, context.limits, capability));
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

// Only the launches of the first recording are timed.
void add_origins(Provenance& found, const Player& player, const Origins& origins) {
  std::size_t next = 0;
  for (std::size_t recording = 0; recording < player.tapes(); ++recording)
    for (const auto& from : player.facts(recording).launches)
      found.launch_list.launches[next++].whose = whose(from->name, from->cubin_sha256, origins);
  for (std::size_t i = 0; i < found.launches.size(); ++i)
    found.launch_list.launches[i].time_ms = found.launches[i].time_ms;
}

}  // namespace

async::Task<Provenance> find_provenance(Player& player, const Origins& origins, bool timed) {
  Provenance found;
  found.launches = launches_of(player.facts(0), origins);
  found.launch_list = recorded_launches(player);
  const bool is_timed = !timed || found.launches.empty() || co_await time_each(player, found);
  add_origins(found, player, origins);
  if (!is_timed) co_return found;
  co_await replay_without_own(player, found);
  co_return found;
}

}  // namespace kw::verify
