#include "verify/judge/cpu_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "code/syntax/features.h"

namespace kw::verify {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr auto compile_limit = 45s;
constexpr std::uint32_t max_halvings = 24;
constexpr int rounds = 6;
constexpr std::uint64_t little_data_bytes = 4096;  // of inputs and outputs
// A call on a family that takes so many times as long as the slowest trial has no end.
constexpr double patience = 16;
constexpr auto least_patience = 10s;
// Of an autotuner, beside the first one; their calls together have an eighth of one call's budget.
constexpr std::uint32_t least_configurations = 3, most_configurations = 7;
constexpr double configurations_budget_ms = cpu_call_budget_ms / 8;

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

// No kernel has more programs than pairs of bytes, however it divides its work.
bool is_credible(std::uint64_t programs, std::uint64_t bytes) {
  return static_cast<double>(programs) * cpu_program_ms <= cpu_call_budget_ms ||
         static_cast<double>(programs) <= static_cast<double>(bytes) * static_cast<double>(bytes);
}

// Smaller shapes do not help an interpreter that others kept from the CPU.
bool is_too_large(const Outcome<>& done) {
  const auto* blame = done ? nullptr : std::get_if<Blame>(&done.error());
  return blame != nullptr && blame->error_class == ErrorClass::too_large && blame->doubt.empty();
}

bool has_ended(const Blame& failure) {
  return failure.error_class != ErrorClass::timeout && failure.error_class != ErrorClass::too_large;
}

}  // namespace

std::vector<std::uint32_t> further_configurations(std::uint32_t count, std::uint64_t programs) {
  if (count < 2) return {};
  const double call_ms = std::max(1.0, static_cast<double>(programs)) * cpu_program_ms;
  const auto affordable = static_cast<std::uint32_t>(std::min(configurations_budget_ms / call_ms, 1e6));
  const std::uint32_t tried =
      std::min(count - 1, std::clamp(affordable, least_configurations, most_configurations));
  std::vector<std::uint32_t> found;
  for (std::uint64_t at = 0; at < tried; ++at)  // the last one is the largest in many lists
    found.push_back(static_cast<std::uint32_t>(1 + at * (count - 2) / std::max(1U, tried - 1)));
  return found;
}

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
    program_count = programs_ = compiled->program_count;
    const double programs = static_cast<double>(program_count);
    const bool fits = programs * cpu_program_ms <= cpu_call_budget_ms;
    if (fits && compiled->launch_count > 0)
      (void)co_await calls_.check_decoy("without_launches", std::move(compiled->outputs), seen);
    co_await calls_.end();
    if (fits) co_return Outcome<>{};
    if (!is_credible(program_count, data_bytes()))
      co_return std::unexpected<Ended>(Blame{
          Stage::compile, Status::failed, Fault::kernel, ErrorClass::forbidden,
          fmt::format("the candidate's process counts {} programs for a call on {} bytes, which no kernel "
                      "has: the candidate replaced the count",
                      program_count, data_bytes())});
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
  doubt_the_launch(seen.ended);
  co_return seen;
}

// The candidate's process claims the launch. Only a loop takes longer than the time limit on little data.
void CpuPath::doubt_the_launch(std::optional<Ended>& ended) const {
  auto* blame = ended ? std::get_if<Blame>(&*ended) : nullptr;
  if (blame == nullptr || blame->error_class != ErrorClass::too_large) return;
  if (data_bytes() > little_data_bytes || may_loop(case_.job.candidate.code)) return;
  blame->stage = Stage::run;
  blame->status = Status::failed;
  blame->fault = Fault::kernel;
  blame->error_class = ErrorClass::timeout;
  blame->error =
      fmt::format("a launch on {} bytes, from a source without loops, did not end in time", data_bytes());
}

std::uint64_t CpuPath::data_bytes() const {
  return oracle_.moved_bytes();
}

async::Task<Outcome<>> CpuPath::interpret_once(Evidence& seen) {
  // Three trials in a row meet each kind of poison: one kind hides what the others show. Zeros never come
  // first, because a candidate may keep memory of the first call, and hope for zeros there.
  static constexpr const char* orders[][3] = {
      {"nan", "data", "zeros"}, {"nan", "zeros", "data"}, {"data", "nan", "zeros"}, {"data", "zeros", "nan"}};
  const auto& poisons = orders[case_.context.seeds.next() % std::size(orders)];
  needs_process_ = false;
  if (auto started = co_await start_interpreter(seen); !started) co_return started;
  const milliseconds budget = std::min(case_.context.interpreted_call_limit, case_.settings.timeout);
  std::uint64_t first_seed = 0;
  double longest_ms = 0;
  shortest_ms_ = std::numeric_limits<double>::infinity();
  for (std::uint32_t k = 0; k < calls_.trials(); ++k) {
    auto began = async::SteadyClock::now();
    if (auto right = co_await calls_.trial(k, {.poison = poisons[k % 3]}, budget, seen); !right)
      co_return right;
    longest_ms = std::max(longest_ms, async::ms_since(began));
    shortest_ms_ = std::min(shortest_ms_, async::ms_since(began));
    if (k == 0) first_seed = calls_.seed();
  }
  if (calls_.trials() > 1)
    if (auto stays = co_await calls_.first_result_stays(first_seed, seen); !stays) co_return stays;
  LiveCalls::Further more{.first = calls_.trials(),
                          .count = case_.settings.audit_calls,
                          .budget = budget,
                          .poisons = {std::begin(poisons), std::end(poisons)}};
  if (auto right = co_await calls_.further_calls(std::move(more), seen); !right) co_return right;
  if (calls_.launches() == 0) co_return Outcome<>{};
  calls_.restart_clock();  // each question has a limit of its own
  question_limit_ = std::min(milliseconds(static_cast<long>(3 * longest_ms)) + 2s, budget);
  patient_limit_ = std::min<milliseconds>(
      std::max<milliseconds>(milliseconds(static_cast<long>(patience * longest_ms)), least_patience),
      case_.settings.timeout);
  next_call_ = calls_.trials() + case_.settings.audit_calls;
  // What launches do to memory that the candidate keeps may spoil later calls, so these come last.
  if (auto varied = co_await vary_inputs(seen); !varied) co_return varied;
  if (auto found = co_await find_race(seen); !found) co_return found;
  if (auto found = co_await find_decoys(seen); !found) co_return found;
  co_return co_await try_configurations(seen);
}

async::Task<Outcome<>> CpuPath::start_interpreter(Evidence& seen) {
  if (auto started = co_await calls_.start(case_.context.servers.interpret); !started) co_return started;
  co_return co_await calls_.load(wire::Mode::interpret, "mixed", seen);
}

async::Task<Outcome<>> CpuPath::renew_interpreter(const Evidence& seen) {
  if (!std::exchange(needs_process_, false)) co_return Outcome<>{};
  Evidence again{.weights = seen.weights};
  calls_.restart_clock();
  co_return co_await start_interpreter(again);
}

async::Task<Outcome<>> CpuPath::vary_inputs(Evidence& seen) {
  if (!oracle_.varies_inputs()) co_return Outcome<>{};
  auto found =
      co_await try_families({oracle_.facts().families, most_families_interpreted(programs_, shortest_ms_),
                             case_.is_alone, case_.context.seeds.next()},
                            [&](FamilyQuestion asked) { return ask_family(std::move(asked), seen); });
  if (!found) co_return std::unexpected(found.error());
  seen.generality = std::move(*found);
  calls_.restart_clock();
  co_return Outcome<>{};
}

async::Task<Outcome<FamilyAnswer>> CpuPath::ask_family(FamilyQuestion asked, const Evidence& seen) {
  if (auto renewed = co_await renew_interpreter(seen); !renewed) co_return std::unexpected(renewed.error());
  auto answer = co_await calls_.family(next_call_++, std::move(asked.family),
                                       asked.patient ? patient_limit_ : question_limit_);
  if (answer) answer->was_patient = asked.patient;
  if (answer && answer->failure) {
    co_await calls_.end();
    needs_process_ = true;
  }
  co_return answer;
}

// A call whose launches have other effects than the candidate's own, or none where it fails: an honest
// candidate may fail there, so a failure proves nothing, and the next question goes to a new process.
async::Task<Outcome<std::unique_ptr<wire::ValueT>>> CpuPath::ask(wire::Effect effect, Evidence& seen) {
  using Outputs = std::unique_ptr<wire::ValueT>;
  const StageTimes times = case_.times;
  if (auto renewed = co_await renew_interpreter(seen); !renewed) co_return std::unexpected(renewed.error());
  auto returned = co_await calls_.call(next_call_++, {.effect = effect}, question_limit_);
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
    bool is_proof = false;
    for (int draw = 0; !is_proof && draw < most_decoy_draws; ++draw) {
      auto outputs = co_await ask(each.effect, seen);
      if (!outputs) co_return std::unexpected(outputs.error());
      is_proof = co_await calls_.check_decoy(each.name, std::move(*outputs), seen);
    }
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

// A device measures the configurations of an autotuner, and may take any that is left after pruning.
async::Task<Outcome<>> CpuPath::try_configurations(Evidence& seen) {
  for (const std::uint32_t number : further_configurations(calls_.configurations(), programs_)) {
    calls_.choose_configuration(number);
    auto ended = co_await try_configuration(number, seen);
    calls_.choose_configuration(0);  // other shapes and other weights are tried as the trials are
    if (!ended) co_return std::unexpected(ended.error());
    if (!*ended) break;
  }
  co_return Outcome<>{};
}

// In a process of its own, as an autotuner keeps what it chose, and the candidate may keep memory of that
// size. A device passes over a configuration that does not compile, so no other failure proves anything than
// an access out of bounds in the call. Returns whether import and call ended within their time.
async::Task<Outcome<bool>> CpuPath::try_configuration(std::uint32_t number, Evidence& seen) {
  std::optional<Blame> blame;
  for (int times = 0; times < 2; ++times) {
    co_await calls_.end();
    needs_process_ = true;
    if (auto renewed = co_await renew_interpreter(seen); !renewed) {
      const auto* failure = std::get_if<Blame>(&renewed.error());
      if (failure == nullptr || failure->fault != Fault::kernel) co_return std::unexpected(renewed.error());
      co_return has_ended(*failure);
    }
    auto returned = co_await calls_.call(next_call_++, {.poison = "nan"}, question_limit_);
    if (case_.stop.requested()) co_return std::unexpected<Ended>(Stopped{});
    if (!returned) {
      const auto* failure = std::get_if<Blame>(&returned.error());
      if (failure == nullptr || failure->error_class != ErrorClass::out_of_bounds)
        co_return failure == nullptr || has_ended(*failure);
      blame = *failure;
      continue;
    }
    auto judged = co_await calls_.judged(std::move(returned->outputs));
    if (!judged) co_return std::unexpected(judged.error());
    if (judged->right) co_return true;
    blame = blame_result(*judged);
    if (times == 1) seen.judgements.push_back({std::move(*judged)});
  }
  blame->error = fmt::format("with configuration {} of the {} that an autotuner may choose: {}", number + 1,
                             calls_.configurations(), blame->error);
  co_return std::unexpected<Ended>(std::move(*blame));
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

}  // namespace kw::verify
