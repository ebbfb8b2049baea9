#include "verify/judge/varied_shapes.h"

#include <algorithm>

#include "verify/judge/protocol.h"
#include "verify/judge/varied_inputs.h"

namespace kw::verify {
namespace {

using std::chrono::milliseconds;

// The name in python/kernelwright/_engine/oracle/families.py.
constexpr const char* given_inputs = "given";
// Of inputs and weights on a GPU.
constexpr std::uint64_t growth = 4, most_growth_bytes = std::uint64_t{1} << 30,
                        small_bytes = std::uint64_t{64} << 20;
// Of a call: one that takes longer proves nothing.
constexpr milliseconds interpreted_limit{static_cast<long>(cpu_call_budget_ms)}, device_limit{20'000};

// The candidate's own failure; null: there is none.
const Blame* failure_in(const Ended& ended) {
  const auto* blame = std::get_if<Blame>(&ended);
  return blame != nullptr && blame->fault == Fault::kernel ? blame : nullptr;
}

}  // namespace

std::uint64_t most_bytes(const Settings& settings, const wire::CallSpecT& spec) {
  if (settings.device == Device::cpu) return cpu_max_bytes;
  const std::uint64_t own_bytes = spec.input_bytes;
  return std::max(std::min(growth * own_bytes, own_bytes + most_growth_bytes), small_bytes);
}

async::Task<Outcome<std::vector<FamilyTrial>>> VariedShapes::run() {
  co_await calls_.end();
  std::vector<FamilyTrial> trials;
  for (const char* version : other_shapes) {
    FamilyTrial& trial = trials.emplace_back(FamilyTrial{.family = version});
    trial.why = "a trial before ended the reference's process";
    if (oracle_.process().broke()) continue;
    auto judged = co_await judge_version(version);
    if (judged) {
      trial = std::move(*judged);
    } else if (const auto* blame = std::get_if<Blame>(&judged.error())) {
      const bool is_refused = blame->fault == Fault::task && !oracle_.process().broke();
      trial.outcome = is_refused ? FamilyOutcome::dropped : FamilyOutcome::untried;
      trial.why = words_from(blame->error);
    } else {
      co_return std::unexpected(judged.error());
    }
  }
  for (FamilyTrial& trial : trials)
    trial.reported_only = case_.settings.varied_shapes != "require" || trial.family == empty_shape;
  co_return trials;
}

async::Task<Outcome<FamilyTrial>> VariedShapes::judge_version(const std::string& version) {
  auto prepared = co_await oracle_.prepare_version(version, most_bytes(case_.settings, oracle_.spec()));
  if (!prepared) co_return std::unexpected(prepared.error());
  auto answer = co_await ask();
  if (!answer) co_return std::unexpected(answer.error());
  FamilyTrial trial = trial_of(version, *answer);
  if (trial.outcome == FamilyOutcome::failed) {
    auto again = co_await ask();
    if (!again) co_return std::unexpected(again.error());
    confirm(trial, trial_of(version, *again));
  }
  trial.inputs = "sizes " + words_from(prepared->sizes);
  co_return trial;
}

// One call on fresh inputs as the version draws them, in a process of its own. They are judged like a family:
// the reference may have no answer at this size, and long sums are less exact than those of the task.
async::Task<Outcome<FamilyAnswer>> VariedShapes::ask() {
  const bool is_interpreted = case_.settings.device == Device::cpu;
  const milliseconds limit =
      std::min(case_.settings.timeout, is_interpreted ? interpreted_limit : device_limit);
  calls_.restart_clock();
  if (auto started = co_await start(); !started) {
    co_await calls_.end();
    const Blame* failure = failure_in(started.error());
    if (failure == nullptr) co_return std::unexpected(started.error());
    co_return FamilyAnswer{.failure = *failure};
  }
  auto answer = co_await calls_.family(0, given_inputs, limit);
  co_await calls_.end();
  co_return answer;
}

async::Task<Outcome<>> VariedShapes::start() {
  Evidence unused{.weights = weights_};
  if (case_.settings.device == Device::cpu) {
    if (auto started = co_await calls_.start(case_.context.servers.interpret); !started) co_return started;
    co_return co_await calls_.load(wire::Mode::interpret, "mixed", unused);
  }
  if (auto started = co_await calls_.start(case_.context.runners); !started) co_return started;
  co_return co_await calls_.load(wire::Mode::cuda, "nan", unused);
}

}  // namespace kw::verify
