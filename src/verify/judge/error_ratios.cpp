#include "verify/judge/error_ratios.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"

namespace kw::verify {
namespace {

constexpr std::size_t most_outputs = 32;

// Null beyond the first outputs: a reference may name others in each judgement.
ErrorRatio* ratio_of(const std::string& output, Comparison& comparison) {
  auto found = std::ranges::find(comparison.error_ratios, output, &ErrorRatio::output);
  if (found != comparison.error_ratios.end()) return &*found;
  if (comparison.error_ratios.size() == most_outputs) return nullptr;
  return &comparison.error_ratios.emplace_back(ErrorRatio{.output = output});
}

void take_output(const wire::OutputErrorsT& errors, Comparison& comparison) {
  ErrorRatio* const place = ratio_of(to_plain_text(errors.output), comparison);
  if (place == nullptr || place->why_null == NoErrorRatio::nonfinite) return;
  ErrorRatio& ratio = *place;
  const double found = errors.max_abs_error / errors.error_unit;
  if (errors.error_unit > 0 && std::isfinite(found)) {
    ratio.unit = errors.error_unit;
    ratio.error_ratio = std::max(ratio.error_ratio.value_or(0), found);
    ratio.why_null.reset();
    return;
  }
  ratio.why_null = errors.error_unit > 0
                       ? NoErrorRatio::nonfinite
                       : from_string<NoErrorRatio>(errors.no_unit).value_or(NoErrorRatio::no_float64);
  ratio.error_ratio.reset();
}

}  // namespace

void take_error_ratios(const wire::JudgedT& judged, Comparison& comparison) {
  for (const auto& each : judged.outputs)
    if (each) take_output(*each, comparison);
  comparison.error_ratio.reset();
  for (const ErrorRatio& each : comparison.error_ratios)
    if (each.error_ratio)
      comparison.error_ratio = std::max(comparison.error_ratio.value_or(0), *each.error_ratio);
  comparison.error_ratio_why_null.reset();
  if (comparison.error_ratio) return;
  comparison.error_ratio_why_null = NoErrorRatio::not_compared;
  if (!comparison.error_ratios.empty())
    comparison.error_ratio_why_null = comparison.error_ratios.front().why_null;
}

}  // namespace kw::verify
