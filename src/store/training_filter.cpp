#include "store/training_filter.h"

#include <fmt/format.h>

namespace kw::store {
namespace {

constexpr double worthwhile_gain = 1.1;

// Better trust comes first in the enumeration.
bool is_trusted(const Verdict& verdict, Trust least) {
  return verdict.trust && *verdict.trust <= least;
}

std::string why_not_correct(const Verdict& verdict) {
  if (!correctness(verdict)) return "not tried to the end";
  if (!*correctness(verdict)) return "wrong";
  if (!verdict.counts) return not_known_to_count;
  if (!*verdict.counts) return "right without counting";
  return {};
}

std::string why_not_fast(const Verdict& verdict, Filter filter) {
  bool fast = filter == Filter::fast_1 ? fast_1(verdict) == true : fast_2(verdict) == true;
  if (fast) return {};
  return verdict.speedup ? fmt::format("not {}", to_string(filter)) : "of unknown speed";
}

}  // namespace

bool is_benchmark(const Task& task) {
  return task.source == "kernelbench" || task.task_id.starts_with("kernelbench/");
}

std::string why_left_out(const Turn& turn, const TrainingOptions& options) {
  if (options.filter == Filter::none && !options.min_trust) return {};
  if (!turn.verdict) return "not judged";
  if (options.filter != Filter::none)
    if (std::string why = why_not_correct(*turn.verdict); !why.empty()) return why;
  if (options.filter == Filter::fast_1 || options.filter == Filter::fast_2)
    if (std::string why = why_not_fast(*turn.verdict, options.filter); !why.empty()) return why;
  if (options.min_trust && !is_trusted(*turn.verdict, *options.min_trust))
    return fmt::format("trusted less than {}", to_string(*options.min_trust));
  return {};
}

bool is_better(const Turn& one, const Turn& other) {
  if (!one.verdict || !other.verdict || !correct_and_counts(*one.verdict)) return false;
  if (one.completion == other.completion) return false;
  if (correctness(*other.verdict) == false) return true;
  if (!correct_and_counts(*other.verdict) || !one.verdict->speedup || !other.verdict->speedup) return false;
  return *one.verdict->speedup >= worthwhile_gain * *other.verdict->speedup;
}

}  // namespace kw::store
