#include "verify/settings.h"

namespace kw::verify {

Settings with_options(Settings settings, const JobOptions& options) {
  auto take = [](const auto& from, auto& into) {
    if (from) into = *from;
  };
  take(options.correctness_trials, settings.correctness_trials);
  take(options.timing_trials, settings.timing_trials);
  take(options.timing_precision, settings.timing_precision);
  take(options.tolerance, settings.tolerance);
  take(options.precision, settings.precision);
  take(options.tf32, settings.tf32);
  take(options.move_weights, settings.move_weights);
  if (options.timeout_s)
    settings.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(*options.timeout_s * 1000));
  return settings;
}

}  // namespace kw::verify
