// JobOptions: what one evaluation asks for where it is not what the verifier was started with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kw {

struct ToleranceOption {
  std::string name = "kernelbench";  // "kernelbench", "seed", "strict", "custom"
  double rtol = -1;                  // negative: the named rule's
  double atol = -1;
  bool operator==(const ToleranceOption&) const = default;
};

struct JobOptions {
  std::optional<std::uint32_t> correctness_trials;
  std::optional<std::uint32_t> timing_trials;
  std::optional<double> timing_precision;
  std::optional<ToleranceOption> tolerance;
  std::optional<std::string> precision;  // "fp32", "fp16", "bf16"
  std::optional<bool> tf32;
  std::optional<bool> move_weights;
  std::optional<double> timeout_s;  // of the candidate's own running
  bool operator==(const JobOptions&) const = default;
};

}  // namespace kw
