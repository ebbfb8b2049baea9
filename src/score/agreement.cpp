#include "score/agreement.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace kw::score {
namespace {

// Landis and Koch 1977, "The measurement of observer agreement for categorical data", Biometrics 33.
std::string_view strength(double kappa) {
  constexpr std::array<std::pair<double, std::string_view>, 5> steps = {
      {{0.8, "almost perfect"}, {0.6, "substantial"}, {0.4, "moderate"}, {0.2, "fair"}, {0, "slight"}}};
  for (const auto& [over, word] : steps)
    if (kappa > over) return word;
  return "none beyond chance";
}

}  // namespace

Agreement agreement(const std::vector<Judged>& judged, double confidence) {
  Agreement result;
  for (const Judged& one : judged)
    ++(one.automatic ? (one.person ? result.both_good : result.only_automatic)
                     : (one.person ? result.only_person : result.both_bad));
  std::size_t n = judged.size();
  result.raw = share(result.both_good + result.both_bad, n, confidence);
  if (n == 0) {
    result.kappa_words = "undefined: nothing was judged by both";
    return result;
  }
  double all = static_cast<double>(n);
  double automatic = static_cast<double>(result.both_good + result.only_automatic) / all;
  double person = static_cast<double>(result.both_good + result.only_person) / all;
  result.expected = automatic * person + (1 - automatic) * (1 - person);
  // Exactly so, not nearly: both always said the same one word.
  if (result.both_good == n || result.both_bad == n) {
    result.kappa_words =
        "undefined: both gave one and the same judgement throughout, which chance would do as well; draw "
        "answers of "
        "both kinds";
    return result;
  }
  result.kappa = (*result.raw.value - result.expected) / (1 - result.expected);
  result.kappa_words = fmt::format("agreement beyond chance: {}", strength(*result.kappa));
  return result;
}

}  // namespace kw::score
