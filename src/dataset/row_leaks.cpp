#include "dataset/row_leaks.h"

#include <limits>
#include <string>

namespace kw::dataset {
namespace {

// Shorter completions say too little for their windows to be looked up in the prompt.
constexpr std::size_t least_completion_bytes = 200;

void append(std::vector<corpus::Leak>& all, std::vector<corpus::Leak> more, const char* relation) {
  for (corpus::Leak& leak : more) {
    leak.relation = relation;
    all.push_back(std::move(leak));
  }
}

// A prompt that holds its own completion teaches copying.
std::vector<corpus::Leak> within(std::string_view prompt, std::string_view completion,
                                 leak::Thresholds thresholds) {
  // A kernel's context repeats pieces of its body honestly: only the greater part of it counts here.
  thresholds.least_windows = std::numeric_limits<std::size_t>::max();
  std::vector<corpus::Leak> leaks;
  if (completion.size() >= least_completion_bytes)
    leaks = leak::Index({{"completion", "", std::string(completion)}}, thresholds).check(prompt, "prompt");
  if (!leaks.empty()) return leaks;
  double jaccard = leak::word_jaccard(prompt, completion);
  if (jaccard < thresholds.jaccard) return {};
  corpus::Leak leak;
  leak.against = "completion";
  leak.field = "prompt";
  leak.jaccard = jaccard;
  return {leak};
}

}  // namespace

std::vector<corpus::Leak> row_leaks(std::string_view prompt, std::string_view completion,
                                    const leak::Index& benchmarks, const leak::Thresholds& thresholds) {
  std::vector<corpus::Leak> leaks;
  append(leaks, benchmarks.check(prompt, "prompt"), "benchmark");
  append(leaks, benchmarks.check(completion, "completion"), "benchmark");
  append(leaks, within(prompt, completion, thresholds), "prompt_completion");
  return leaks;
}

}  // namespace kw::dataset
