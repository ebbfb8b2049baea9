#include "verify/judge/varied_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/core/display.h"
#include "base/core/text.h"
#include "verify/judge/protocol.h"

namespace kw::verify {
namespace {

constexpr std::size_t longest_words = 400;  // bytes of a text that the oracle sent
constexpr std::size_t most_named = 64;      // families
constexpr std::size_t least_interpreted = 4;
// Of all families together, as the number of programs and as the trials have it.
constexpr double interpreted_budget_ms = cpu_call_budget_ms / 8, measured_budget_ms = cpu_call_budget_ms / 2;
constexpr double device_patience_factor = 100;
constexpr std::uint64_t large_bytes = std::uint64_t{1} << 30, middle_bytes = std::uint64_t{1} << 26;

bool ran_out_of_time(const FamilyAnswer& answer) {
  return answer.failure && (answer.failure->error_class == ErrorClass::timeout ||
                            answer.failure->error_class == ErrorClass::too_large);
}

bool lacks_a_feature(const FamilyAnswer& answer) {
  return answer.failure && answer.failure->status == Status::skipped && !ran_out_of_time(answer);
}

// Neighbours may have caused the failure, or the call was short of time, which may depend on the values.
bool proves_nothing(const FamilyAnswer& answer) {
  if (!answer.failure->doubt.empty() || lacks_a_feature(answer)) return true;
  return ran_out_of_time(answer) && !answer.was_patient;
}

void take_errors(FamilyTrial& trial, const wire::JudgedT& judged) {
  auto known = [](double value) { return value >= 0 ? std::optional(value) : std::nullopt; };
  trial.max_abs_error = known(judged.max_abs_error);
  trial.mismatched_share = known(judged.mismatched_share);
  for (const auto& output : judged.outputs)
    if (output && output->max_error_over_limit >= 0 &&
        (!trial.max_error_over_limit || !(output->max_error_over_limit <= trial.max_error_over_limit->value)))
      trial.max_error_over_limit = Element{output->max_error_over_limit};
}

}  // namespace

std::string words_from(const std::string& text) {
  return fitted(to_plain_text(text), longest_words);
}

FamilyTrial trial_of(const std::string& family, const FamilyAnswer& answer) {
  FamilyTrial trial{.family = family, .reported_only = answer.drawn.reported_only};
  if (!answer.drawn.description.empty()) trial.inputs = words_from(answer.drawn.description);
  if (!answer.drawn.dropped.empty()) {
    trial.outcome = FamilyOutcome::dropped;
    trial.why = words_from(answer.drawn.dropped);
  } else if (!answer.why_untried.empty() || (answer.failure && proves_nothing(answer))) {
    trial.why = words_from(answer.failure ? answer.failure->error : answer.why_untried);
  } else if (answer.failure) {
    trial.outcome = FamilyOutcome::failed;
    trial.why = words_from(answer.failure->error);
  } else if (answer.judged) {
    trial.outcome = answer.judged->right ? FamilyOutcome::held : FamilyOutcome::failed;
    take_errors(trial, *answer.judged);
    if (!answer.judged->right) trial.why = words_from(answer.judged->error);
  } else {
    trial.why = "there is no judgement";
  }
  return trial;
}

void confirm(FamilyTrial& failed, const FamilyTrial& second) {
  if (second.outcome == FamilyOutcome::failed) return;
  failed.why = fmt::format("wrong on one of two draws, which proves nothing: {}", *failed.why);
  failed.outcome = FamilyOutcome::untried;
}

namespace {

struct Tried {
  FamilyTrial trial;
  std::optional<FamilyTrial> wrong_once = {};  // the wrong one, where the second draw proves nothing
  bool has_no_end = false;                     // the call did not end on either draw
};

std::unexpected<Ended> ended_on(Blame failure, const std::string& family) {
  failure.error = fmt::format("on inputs of the family {}: {}", family, failure.error);
  return std::unexpected<Ended>(std::move(failure));
}

// Alone on the device, a failure is the candidate's, as on the task's own inputs.
async::Task<Outcome<FamilyAnswer>> asked(FamilyQuestion question, bool alone, const AskFamily& ask) {
  auto answer = co_await ask(std::move(question));
  if (answer && answer->failure && alone) answer->failure->doubt.clear();
  co_return answer;
}

async::Task<Outcome<Tried>> try_family(FamilyQuestion question, bool alone, const AskFamily& ask) {
  const std::string family = words_from(question.family);
  auto answer = co_await asked(question, alone, ask);
  if (answer && ran_out_of_time(*answer) && !answer->was_patient && !answer->drawn.reported_only) {
    question.fresh = question.patient = true;
    answer = co_await asked(question, alone, ask);
  }
  if (!answer) co_return std::unexpected(answer.error());
  const bool is_doubtful = answer->failure && !answer->failure->doubt.empty();
  if ((lacks_a_feature(*answer) || is_doubtful) && !answer->drawn.reported_only)
    co_return ended_on(std::move(*answer->failure), family);
  Tried tried{.trial = trial_of(family, *answer), .has_no_end = ran_out_of_time(*answer)};
  if (tried.trial.outcome != FamilyOutcome::failed) co_return tried;
  question.fresh = true;
  auto again = co_await asked(question, alone, ask);
  if (!again) co_return std::unexpected(again.error());
  FamilyTrial first = tried.trial;
  confirm(tried.trial, trial_of(family, *again));
  if (tried.trial.outcome == FamilyOutcome::untried) tried.wrong_once = std::move(first);
  tried.has_no_end &= ran_out_of_time(*again);
  co_return tried;
}

}  // namespace

namespace {

// Where not all can be tried, a candidate could be right on those alone that always are.
void draw_one_of_the_rest(FamiliesToTry& these) {
  if (these.families.size() <= these.most) return;
  const std::size_t rest = these.families.size() - these.most;
  const auto first = these.families.begin() + static_cast<std::ptrdiff_t>(these.most);
  std::rotate(first, first + static_cast<std::ptrdiff_t>(these.seed % rest), these.families.end());
  ++these.most;
}

}  // namespace

async::Task<Outcome<Generality>> try_families(FamiliesToTry these, AskFamily ask) {
  Generality found;
  std::vector<std::string>& families = these.families;
  if (families.size() > most_named) families.resize(most_named);
  draw_one_of_the_rest(these);
  std::string why_no_more, wrong_once_on;
  for (const std::string& sent : families) {
    const std::string family = words_from(sent);
    if (found.families.size() >= these.most) why_no_more = "a call takes too long to try every family";
    if (!why_no_more.empty()) {
      found.families.push_back({.family = family, .why = why_no_more});
      continue;
    }
    auto tried = co_await try_family({.family = sent}, these.alone, ask);
    if (!tried) co_return std::unexpected(tried.error());
    // A candidate that answers rightly every second time fails each family once.
    if (tried->wrong_once && !tried->trial.reported_only) {
      if (!wrong_once_on.empty()) {
        tried->trial = std::move(*tried->wrong_once);
        tried->trial.why = fmt::format("wrong on one of two draws, as on the family {}: {}", wrong_once_on,
                                       tried->trial.why.value_or(""));
      }
      wrong_once_on = family;
    }
    // It is held against the candidate already, and each further one might take as long.
    if (tried->has_no_end && tried->trial.outcome == FamilyOutcome::failed && !tried->trial.reported_only)
      why_no_more = fmt::format("the candidate did not answer on the family {}", family);
    found.families.push_back(std::move(tried->trial));
  }
  if (families.empty()) found.why_not = "no input of the task can be varied";
  co_return found;
}

std::chrono::milliseconds longest_wait(const DevicePatience& patience) {
  const auto most_ms = static_cast<double>(patience.timeout.count());
  const double longest_ms = std::min(device_patience_factor * patience.usual_ms, most_ms);
  return std::min(std::max(patience.least, std::chrono::milliseconds(std::llround(longest_ms))),
                  patience.timeout);
}

std::size_t most_families_on_device(std::uint64_t moved_bytes) {
  if (moved_bytes > large_bytes) return 3;
  return moved_bytes > middle_bytes ? 6 : most_named;
}

std::size_t most_families_interpreted(std::uint64_t programs, double shortest_ms) {
  const double usual_ms = std::max(1.0, static_cast<double>(programs)) * cpu_program_ms;
  // Programs that run together take less than they would one by one.
  const double affordable =
      std::max(interpreted_budget_ms / usual_ms, measured_budget_ms / std::max(shortest_ms, 1.0));
  return std::max(least_interpreted, static_cast<std::size_t>(affordable));
}

}  // namespace kw::verify
