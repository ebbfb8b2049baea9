// No GPU: every launch is compiled for sm_90 and not run, then the candidate runs under Triton's interpreter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verify/attempt.h"

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

// Of what the compile stage finds, only this is certain: launches wrote nothing, so a later error proves
// nothing.
bool stands_without_launches(ErrorClass error_class) {
  return error_class == ErrorClass::compile_error || error_class == ErrorClass::out_of_resources ||
         error_class == ErrorClass::syntax_error || error_class == ErrorClass::missing_entry;
}

}  // namespace

async::Task<Step> Attempt::on_cpu() {
  verdict_.timing.why_null = "no GPU: speed is not measured";
  verdict_.trust = Trust::interpreter;
  std::uint64_t max_bytes = settings_.reduce_shapes ? cpu_max_bytes : 0;
  if (co_await prepare(max_bytes, 0) == Step::ended) co_return Step::ended;
  if (co_await fit_shapes() == Step::ended) co_return Step::ended;
  Step step = co_await interpret(wire::Weights::automatic);
  bool wrong = verdict_.status == Status::incorrect && loaded_.weights_differ;
  if (step == Step::go_on || !wrong) co_return step;
  // Weights packed by a constructor are right as constructed only; right under either convention is right.
  Verdict as_loaded = verdict_;
  step = co_await interpret(wire::Weights::constructed);
  if (step == Step::ended && !stopped_) verdict_ = std::move(as_loaded);
  co_return step;
}

// Compiles at ever smaller shapes, until the grids are such as an interpreter gets through.
async::Task<Step> Attempt::fit_shapes() {
  for (int round = 0; round < rounds; ++round) {
    returned_ = {};
    if (co_await compile_only(wire::Weights::automatic) == Step::ended) co_return Step::ended;
    double programs = static_cast<double>(returned_.program_count);
    bool fits = programs * cpu_program_ms <= cpu_call_budget_ms;
    if (fits) {
      if (returned_.launch_count > 0) decoy_ = co_await right_without_launches();
      co_await end_runner();
      co_return Step::go_on;
    }
    co_await end_runner();
    if (!settings_.reduce_shapes || oracle_.halvings() >= max_halvings) break;
    std::uint32_t before = oracle_.halvings();
    std::string sizes = oracle_.facts().sizes;
    if (co_await prepare(cpu_max_bytes, before + halvings_for(programs)) == Step::ended)
      co_return Step::ended;
    if (oracle_.facts().sizes == sizes) break;
  }
  verdict_.stage = Stage::compile;
  verdict_.status = Status::skipped;
  verdict_.error_class = ErrorClass::too_large;
  verdict_.error =
      fmt::format("{} programs a call are too many to interpret, and the shapes cannot be halved further",
                  returned_.program_count);
  co_return Step::ended;
}

async::Task<Step> Attempt::compile_only(wire::Weights weights) {
  Verdict before = verdict_;
  if (co_await start_runner(context_.servers.compile) == Step::ended) co_return Step::ended;
  Step step = co_await load(wire::Mode::compile, weights, "zeros");
  if (step == Step::go_on) {
    auto start = async::SteadyClock::now();
    step = co_await call(0, {}, compile_limit);
    before.stages_ms[Stage::compile] += async::ms_since(start);
  }
  if (step == Step::go_on) {
    record_launches();
    co_return step;
  }
  bool ours = verdict_.status == Status::error;
  bool stands = verdict_.error_class && stands_without_launches(*verdict_.error_class);
  if (stopped_ || ours || stands) co_return Step::ended;
  before.isolation = verdict_.isolation;
  verdict_ = std::move(before);
  co_await end_runner();
  returned_ = {};
  co_return Step::go_on;
}

async::Task<Step> Attempt::interpret(wire::Weights weights) {
  for (int round = 0; round < rounds; ++round) {
    bool too_slow = false;
    Step step = co_await interpret_at_size(weights, &too_slow);
    co_await end_runner();
    if (!too_slow || !settings_.reduce_shapes || oracle_.halvings() >= max_halvings) co_return step;
    std::string sizes = oracle_.facts().sizes;
    if (co_await prepare(cpu_max_bytes, oracle_.halvings() + 2) == Step::ended) co_return Step::ended;
    if (oracle_.facts().sizes != sizes) continue;
    verdict_.stage = Stage::run;
    verdict_.status = Status::skipped;
    verdict_.error_class = ErrorClass::too_large;
    verdict_.error = "one launch takes the interpreter too long, and the shapes cannot be halved further";
    co_return Step::ended;
  }
  co_return Step::ended;
}

async::Task<Step> Attempt::interpret_at_size(wire::Weights weights, bool* too_slow) {
  if (co_await start_runner(context_.servers.interpret) == Step::ended) co_return Step::ended;
  static constexpr const char* poisons[] = {"nan", "data", "zeros"};
  if (co_await load(wire::Mode::interpret, weights, poisons[context_.seeds.next() % 3]) == Step::ended)
    co_return Step::ended;
  std::uint32_t trials = settings_.correctness_trials;
  // The first call shows what a call costs; the others have what it took, with room.
  milliseconds budget(static_cast<long>(cpu_call_budget_ms * 4));
  for (std::uint32_t k = 0; k < trials; ++k) {
    if (co_await trial(k, std::min(budget, settings_.timeout)) == Step::go_on) continue;
    *too_slow = verdict_.error_class == ErrorClass::too_large && !deadline_.passed();
    co_return Step::ended;
  }
  co_return Step::go_on;
}

}  // namespace kw::verify
