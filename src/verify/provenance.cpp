#include "verify/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/text.h"
#include "engine/broker.h"
#include "syntax/static_findings.h"
#include "verify/attempt.h"
#include "verify/blame.h"
#include "verify/limits.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;

// How the kernels of PyTorch and of what it calls begin, or what stands in their mangled names.
constexpr std::array<std::string_view, 30> library_words{
    "at6native", "at4cuda",       "at_cuda",      "cutlass",     "cublas",      "cudnn",
    "cusolver",  "cusparse",      "cufft",        "ampere_",     "sm80_",       "sm90_",
    "nvjet",     "hopper_",       "volta_",       "turing_",     "maxwell_",    "cub3",
    "CUB_",      "thrust",        "splitKreduce", "gemv",        "gemmk1",      "flash",
    "fmha_",     "pytorch_flash", "triton_poi_",  "triton_red_", "triton_per_", "triton_tem_"};

constexpr auto broker_limit = 60s;

}  // namespace

std::string_view whose(const std::string& kernel, const std::string& cubin_sha256, const Origins& origins) {
  bool jitted = origins.jitted.contains(kernel);
  if (jitted) return origins.attested.contains(cubin_sha256) ? "candidate" : "unattested";
  if (origins.library.contains(cubin_sha256)) return "library";
  if (std::ranges::any_of(library_words, [&](std::string_view word) { return kernel.contains(word); }))
    return "library";
  return origins.native_code ? "unattested" : "library";
}

// What the compile broker makes of the candidate's kernels, asked for while they are replayed: it takes as
// long. The coroutine shares all that it needs, since the verdict may end without it.
void Attempt::start_attesting() {
  attesting_ = std::make_shared<Attesting>(context_.loop);
  if (!context_.servers.broker) {
    attesting_->done.set();
    return;
  }
  auto ask = [](std::shared_ptr<Attesting> attesting, std::shared_ptr<const Tape> tape,
                std::shared_ptr<engine::ForkServer> broker, engine::Limits limits,
                std::uint32_t capability) -> async::Task<> {
    try {
      attesting->sha256 =
          co_await engine::attested(std::move(broker), std::move(limits), tape->recorded.kernels.get(),
                                    capability, async::Deadline::in(broker_limit));
    } catch (const std::exception&) {
      // Whoever cannot be asked attests nothing.
    }
    attesting->done.set();
  };
  boost::asio::co_spawn(context_.loop,
                        ask(attesting_, tapes_.front(), context_.servers.broker, context_.limits,
                            player_->facts(0).compute_capability),
                        boost::asio::detached);
}

// The launches of the first recording: whose they are, how long each takes, and whether the result needs
// those that are not a library's.
async::Task<Step> Attempt::find_provenance() {
  auto began = async::SteadyClock::now();
  co_await attesting_->done.wait();
  take_replayed_launches();
  Step step = co_await time_each_launch();
  if (step == Step::go_on) step = co_await replay_without_own();
  verdict_.stages_ms[Stage::replay] += async::ms_since(began);
  co_return step;
}

void Attempt::take_replayed_launches() {
  StaticReport report = examine(job_.candidate.code);
  Origins origins;
  origins.attested = attesting_->sha256;
  origins.jitted.insert(report.jitted.begin(), report.jitted.end());
  origins.library = context_.tapes.library_cubins();
  origins.native_code = native_code_ || report.native_code;
  verdict_.launches.emplace();
  for (const auto& from : player_->facts(0).launches) {
    Launch launch;
    launch.name = to_plain_text(from->name);
    launch.whose = whose(from->name, from->cubin_sha256, origins);
    launch.cubin_sha256 = from->cubin_sha256;
    launch.grid = from->grid;
    launch.block = from->block;
    if (from->registers >= 0) launch.registers = from->registers;
    if (from->spills >= 0) launch.spills = from->spills;
    if (from->shared_bytes >= 0) launch.shared_bytes = from->shared_bytes;
    verdict_.launches->push_back(std::move(launch));
  }
}

async::Task<Step> Attempt::time_each_launch() {
  if (settings_.timing_trials == 0 || verdict_.launches->empty()) co_return Step::go_on;
  wire::ReplayT how;
  how.order = wire::Order::serial;
  how.each_launch = true;
  auto played = co_await player_->play(std::move(how));
  if (!played) co_return broken_while_timed(played.error());
  double all_ms = 0;
  double own_ms = 0;
  for (std::size_t i = 0; i < std::min(verdict_.launches->size(), played->facts.launch_ms.size()); ++i) {
    Launch& launch = (*verdict_.launches)[i];
    launch.time_ms = std::max(0.0, played->facts.launch_ms[i]);
    all_ms += *launch.time_ms;
    if (launch.whose == "candidate") own_ms += *launch.time_ms;
  }
  if (all_ms > 0) verdict_.triton_share = own_ms / all_ms;
  co_return Step::go_on;
}

// The last replay: without some launches others may well fault, which then says nothing.
async::Task<Step> Attempt::replay_without_own() {
  wire::ReplayT how;
  for (std::uint32_t i = 0; i < verdict_.launches->size(); ++i)
    if ((*verdict_.launches)[i].whose != "library") how.skip.push_back(i);
  own_launches_ = how.skip.size();
  if (how.skip.empty()) co_return Step::go_on;
  auto played = co_await player_->play(std::move(how));
  if (!played) {
    stopped_ = stopped_ || was_stopped(played.error().refusal);
    co_return stopped_ ? Step::ended : Step::go_on;
  }
  auto judged = co_await player_->judge(*played, true);
  decoy_ = judged && judged->right;
  co_return Step::go_on;
}

}  // namespace kw::verify
