#include "verify/judge/live_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verify/judge/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr auto compile_limit = 45s;
constexpr std::uint32_t max_halvings = 24;
constexpr int rounds = 6;

// Halvings after which `programs` should fit the budget: each halves a grid at best.
std::uint32_t halvings_for(double programs) {
  double over = programs * cpu_program_ms / cpu_call_budget_ms;
  return static_cast<std::uint32_t>(std::clamp(std::ceil(std::log2(over)), 1.0, 12.0));
}

// The compile stage proves only these classes: its launches write nothing, so a later error proves nothing.
bool stands_without_launches(const Ended& ended) {
  const auto* blame = std::get_if<Blame>(&ended);
  if (blame == nullptr || blame->status == Status::error) return true;
  return blame->error_class == ErrorClass::compile_error ||
         blame->error_class == ErrorClass::out_of_resources ||
         blame->error_class == ErrorClass::syntax_error || blame->error_class == ErrorClass::missing_entry;
}

bool is_too_large(const Outcome<>& done) {
  const auto* blame = done ? nullptr : std::get_if<Blame>(&done.error());
  return blame != nullptr && blame->error_class == ErrorClass::too_large;
}

}  // namespace

async::Task<Evidence> CpuPath::compile() {
  Evidence seen;
  if (auto done = co_await fit_shapes(seen); !done) seen.ended = std::move(done.error());
  co_return seen;
}

async::Task<Outcome<>> CpuPath::fit_shapes(Evidence& seen) {
  std::uint64_t program_count = 0;
  for (int round = 0; round < rounds; ++round) {
    auto compiled = co_await compile_once(seen);
    if (!compiled) co_return std::unexpected(compiled.error());
    program_count = compiled->program_count;
    const double programs = static_cast<double>(program_count);
    const bool fits = programs * cpu_program_ms <= cpu_call_budget_ms;
    if (fits && compiled->launch_count > 0)
      co_await calls_.check_decoy("without_launches", std::move(compiled->outputs), seen);
    co_await calls_.end();
    if (fits) co_return Outcome<>{};
    if (!can_shrink()) break;
    auto smaller = co_await shrink(halvings_for(programs), seen);
    if (!smaller) co_return std::unexpected(smaller.error());
    if (!*smaller) break;
  }
  co_return std::unexpected<Ended>(Blame{
      Stage::compile, Status::skipped, std::nullopt, ErrorClass::too_large,
      fmt::format("{} programs a call are too many to interpret, and the shapes cannot be halved further",
                  program_count)});
}

// One call whose launches are compiled and not run. A failure that proves nothing adds no evidence and no
// launches.
async::Task<Outcome<wire::ReturnedT>> CpuPath::compile_once(Evidence& seen) {
  StageTimes times = case_.times;
  if (auto started = co_await calls_.start(case_.context.servers.compile); !started)
    co_return std::unexpected(started.error());
  Evidence compiled;
  Outcome<wire::ReturnedT> returned;
  if (auto loaded = co_await calls_.load(wire::Mode::compile, "zeros", compiled); loaded) {
    auto began = async::SteadyClock::now();
    returned = co_await calls_.call(0, {}, compile_limit);
    times[Stage::compile] += async::ms_since(began);
  } else {
    returned = std::unexpected(loaded.error());
  }
  if (!returned && !stands_without_launches(returned.error())) {
    case_.times = std::move(times);
    co_return wire::ReturnedT{};
  }
  if (compiled.loaded) seen.loaded = std::move(compiled.loaded);
  if (returned) {
    seen.launches = launches_of(*returned, case_.settings.device);
    seen.launch_list = claimed_launches(*returned, case_.settings.device);
  }
  co_return returned;
}

async::Task<Evidence> CpuPath::interpret(wire::Weights weights) {
  Evidence seen{.weights = weights};
  for (int round = 0; round < rounds; ++round) {
    auto done = co_await interpret_once(seen);
    const bool too_slow = is_too_large(done) && !calls_.is_out_of_time();
    co_await calls_.end();
    seen.ended = done ? std::nullopt : std::optional(done.error());
    if (!too_slow || !can_shrink()) break;
    auto smaller = co_await shrink(2, seen);
    if (!smaller) seen.ended = smaller.error();
    if (!smaller) break;
    if (*smaller) continue;
    auto& blame = std::get<Blame>(*seen.ended);
    blame.stage = Stage::run;
    blame.status = Status::skipped;
    blame.error = "one launch takes the interpreter too long, and the shapes cannot be halved further";
    break;
  }
  co_return seen;
}

async::Task<Outcome<>> CpuPath::interpret_once(Evidence& seen) {
  // Three trials in a row meet each kind of poison, beginning with any: one kind hides what the others show.
  static constexpr const char* poisons[] = {"nan", "data", "zeros"};
  const std::uint64_t first_poison = case_.context.seeds.next() % 3;
  auto poison = [&](std::uint64_t call) { return std::string(poisons[(first_poison + call) % 3]); };
  if (auto started = co_await start_interpreter(poison(0), seen); !started) co_return started;
  const milliseconds budget =
      std::min(milliseconds(static_cast<long>(cpu_call_budget_ms * 4)), case_.settings.timeout);
  std::uint64_t first_seed = 0;
  double longest_ms = 0;
  for (std::uint32_t k = 0; k < case_.settings.correctness_trials; ++k) {
    auto began = async::SteadyClock::now();
    if (auto right = co_await calls_.trial(k, {.poison = poison(k)}, budget, seen); !right) co_return right;
    longest_ms = std::max(longest_ms, async::ms_since(began));
    if (k == 0) first_seed = calls_.seed();
    if (k != 1) continue;
    if (auto stays = co_await calls_.first_result_stays(first_seed, seen); !stays) co_return stays;
  }
  if (calls_.launches() == 0) co_return Outcome<>{};
  question_limit_ = std::min(milliseconds(static_cast<long>(3 * longest_ms)) + 2s, budget);
  // What launches do to memory that the candidate keeps may spoil later calls, so the race comes first.
  if (auto found = co_await find_race(seen); !found) co_return found;
  co_return co_await find_decoys(seen);
}

async::Task<Outcome<>> CpuPath::start_interpreter(std::string poison, Evidence& seen) {
  if (auto started = co_await calls_.start(case_.context.servers.interpret); !started) co_return started;
  co_return co_await calls_.load(wire::Mode::interpret, std::move(poison), seen);
}

// A call whose launches have other effects than the candidate's own, or none where it fails: an honest
// candidate may fail there, so a failure proves nothing, and the next question goes to a new process.
async::Task<Outcome<std::unique_ptr<wire::ValueT>>> CpuPath::ask(wire::Effect effect, Evidence& seen) {
  using Outputs = std::unique_ptr<wire::ValueT>;
  const StageTimes times = case_.times;
  if (std::exchange(needs_process_, false)) {
    Evidence again{.weights = seen.weights};
    if (auto started = co_await start_interpreter("nan", again); !started)
      co_return std::unexpected(started.error());
  }
  auto returned =
      co_await calls_.call(case_.settings.correctness_trials, {.effect = effect}, question_limit_);
  if (case_.stop.requested()) co_return std::unexpected<Ended>(Stopped{});
  if (returned) co_return std::move(returned->outputs);
  case_.times = times;
  co_await calls_.end();
  needs_process_ = true;
  co_return Outputs{};
}

// The compile stage runs no launch either, but the candidate can tell it from the interpreter.
async::Task<Outcome<>> CpuPath::find_decoys(Evidence& seen) {
  struct Question {
    wire::Effect effect;
    const char* name;
  };
  for (const Question& each : {Question{wire::Effect::skipped, "interpreted_without_launches"},
                               Question{wire::Effect::spoilt, "interpreted_with_spoilt_launches"}}) {
    auto outputs = co_await ask(each.effect, seen);
    if (!outputs) co_return std::unexpected(outputs.error());
    co_await calls_.check_decoy(each.name, std::move(*outputs), seen);
    if (seen.decoy) break;
  }
  co_return Outcome<>{};
}

// A device runs the programs of a launch in any order. One wrong result may come from a rare fault of another
// kind, so it is asked twice; a program that waits for another one may never end, which proves nothing.
async::Task<Outcome<>> CpuPath::find_race(Evidence& seen) {
  std::optional<wire::JudgedT> wrong;
  for (int times = 0; times < 2; ++times) {
    auto outputs = co_await ask(wire::Effect::reordered, seen);
    if (!outputs) co_return std::unexpected(outputs.error());
    if (!*outputs) co_return Outcome<>{};
    auto judged = co_await calls_.judged(std::move(*outputs));
    if (!judged) co_return std::unexpected(judged.error());
    if (judged->right) co_return Outcome<>{};
    wrong = std::move(*judged);
  }
  Blame blame = blame_result(*wrong);
  blame.error_class = ErrorClass::race;
  blame.error = "the result depends on the order in which the programs of a launch run: " + blame.error;
  seen.judgements.push_back({std::move(*wrong)});
  co_return std::unexpected<Ended>(std::move(blame));
}

bool CpuPath::can_shrink() const {
  return case_.settings.reduce_shapes && oracle_.halvings() < max_halvings;
}

// Returns whether the shapes became smaller.
async::Task<Outcome<bool>> CpuPath::shrink(std::uint32_t halvings, Evidence& seen) {
  const std::string sizes = oracle_.facts().sizes;
  if (auto prepared = co_await oracle_.prepare(cpu_max_bytes, oracle_.halvings() + halvings); !prepared)
    co_return std::unexpected(prepared.error());
  seen.prepared = oracle_.facts();
  seen.judgements.clear();
  co_return oracle_.facts().sizes != sizes;
}

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t calls_a_round = 10;
constexpr std::size_t least_events = 40;
constexpr double round_budget_ms = 2'000;
constexpr auto event_timing_limit = 20s;
constexpr double slack_ms =
    5.0;  // of the supervisor's clock: messages, mapping the inputs, the host's part of a call
constexpr std::uint32_t clocked_calls = 3;
constexpr double believable_share = 0.5;

// A call that took this long by the supervisor's clock took most of it on the device, unless its host code is
// slow. The clock cannot tell the two apart, so only a large difference counts.
void bound_by_outside_clock(Times& times, double least_wall_ms) {
  const double outside_ms = believable_share * (least_wall_ms - slack_ms);
  if (midmean(times.kernel_ms) >= outside_ms) return;
  times.findings.push_back(fmt::format(
      "its process claims {:.3f} ms a call where a clock outside saw {:.3f} ms: the claim is raised to "
      "half of that",
      midmean(times.kernel_ms), least_wall_ms));
  for (double& sample : times.kernel_ms) sample = std::max(sample, outside_ms);
}

}  // namespace

async::Task<Evidence> InProcess::judge(Evidence seen) {
  calls_.restart_clock();
  if (auto done = co_await judge_calls(seen); !done) seen.ended = std::move(done.error());
  co_return seen;
}

async::Task<Outcome<>> InProcess::start(Evidence& seen) {
  if (auto started = co_await calls_.start(case_.context.runners); !started) co_return started;
  co_return co_await calls_.load(wire::Mode::cuda, "nan", seen);
}

async::Task<Outcome<>> InProcess::judge_calls(Evidence& seen) {
  if (auto started = co_await start(seen); !started) co_return started;
  if (auto right = co_await calls_.first_calls(seen); !right) co_return right;
  for (std::uint32_t k = 2; k < case_.settings.correctness_trials; ++k)
    if (auto right = co_await calls_.trial(k, {}, case_.settings.timeout, seen); !right) co_return right;
  next_call_ = case_.settings.correctness_trials;
  if (calls_.launches() == 0) co_return Outcome<>{};
  // Without its launches an honest candidate may fail, so a failure here is not the candidate's fault.
  const StageTimes times = case_.times;
  auto returned = co_await calls_.call(next_call_, {.effect = wire::Effect::skipped}, 20s);
  case_.times = times;
  if (case_.stop.requested()) co_return std::unexpected<Ended>(Stopped{});
  if (returned) {
    co_await calls_.check_decoy("without_launches", std::move(returned->outputs), seen);
    co_return Outcome<>{};
  }
  seen.decoys.push_back({.name = "without_launches", .outcome = CheckOutcome::failed});
  co_await calls_.end();
  co_return co_await start(seen);
}

async::Task<Times> InProcess::time(DeviceShare& device) {
  Times times{.instrument = "cuda-events", .why_none = "no call ended within the time for timing"};
  co_await device.drain();
  auto began = async::SteadyClock::now();
  calls_.restart_clock();
  if (auto done = co_await sample(times); !done)
    times.seen.ended = std::move(done.error());
  else
    case_.times[Stage::time] += async::ms_since(began);
  co_return times;
}

async::Task<Outcome<>> InProcess::sample(Times& times) {
  auto limit = async::Deadline::in(event_timing_limit);
  const Precision wanted{.share = case_.settings.timing_precision};
  double least_wall_ms = 1e300;
  for (std::uint32_t each = 0; each < clocked_calls; ++each) {
    auto call = co_await clocked_call({}, times.seen);
    if (!call) co_return std::unexpected(call.error());
    least_wall_ms = std::min(least_wall_ms, call->wall_ms);
  }
  if (auto done = co_await timed_calls(1, times); !done) co_return done;
  times.kernel_ms.clear();
  while (times.kernel_ms.size() < case_.settings.timing_trials && !limit.passed()) {
    wire::TimeReferenceT reference;
    reference.seed = calls_.seed();
    reference.warmup = times.reference_ms.empty() ? case_.settings.timing_warmup : 1;
    reference.calls = calls_a_round;
    reference.budget_ms = round_budget_ms;
    reference.flush_l2 = true;
    auto theirs = co_await oracle_.time_reference(reference, event_timing_limit + 40s);
    if (!theirs) co_return std::unexpected(theirs.error());
    std::ranges::copy(theirs->samples_ms, std::back_inserter(times.reference_ms));
    if (auto done = co_await timed_calls(calls_a_round, times); !done) co_return done;
    if (times.kernel_ms.empty()) break;
    if (is_settled(times.kernel_ms, least_events, wanted) &&
        is_settled(times.reference_ms, least_events, wanted))
      break;
  }
  if (!times.kernel_ms.empty())
    times.clock_check = ClockCheck{.calls = clocked_calls,
                                   .device_ms = midmean(times.kernel_ms),
                                   .device_source = FactSource::claim,
                                   .supervisor_ms = least_wall_ms,
                                   .tolerated_ms = slack_ms + midmean(times.kernel_ms) / believable_share};
  if (!times.kernel_ms.empty() && !times.reference_ms.empty()) bound_by_outside_clock(times, least_wall_ms);
  co_return Outcome<>{};
}

// Each call has new inputs and is judged, so a candidate gains nothing from results that it kept.
async::Task<Outcome<InProcess::Clocked>> InProcess::clocked_call(LiveCalls::How how, Evidence& seen) {
  const std::uint32_t number = next_call_++;
  if (auto drawn = co_await calls_.draw(number); !drawn) co_return std::unexpected(drawn.error());
  auto began = async::SteadyClock::now();
  auto returned = co_await calls_.call(number, how, case_.settings.timeout);
  if (!returned) co_return std::unexpected(returned.error());
  const Clocked clocked{async::ms_since(began), returned->device_ms};
  const std::size_t before = seen.judgements.size();
  auto right = co_await calls_.judge(number, std::move(returned->outputs), seen);
  if (seen.judgements.size() > before) seen.judgements.back().purpose = TrialPurpose::timing;
  if (!right) co_return std::unexpected(right.error());
  co_return clocked;
}

async::Task<Outcome<>> InProcess::timed_calls(std::uint32_t count, Times& times) {
  for (std::uint32_t each = 0; each < count; ++each) {
    auto call = co_await clocked_call({.timed = true}, times.seen);
    if (!call) co_return std::unexpected(call.error());
    if (call->claimed_ms >= 0) times.kernel_ms.push_back(call->claimed_ms);
  }
  co_return Outcome<>{};
}

}  // namespace kw::verify
