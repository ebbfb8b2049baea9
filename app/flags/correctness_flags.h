// What counts as right.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace kw {

struct ToleranceChoice {
  std::string name = "kernelbench";  // "kernelbench", "seed", "strict", "custom"
  double rtol = -1;                  // negative: the named rule's
  double atol = -1;
};

// A name, or "rtol=1e-3,atol=1e-4" (both, in either order).
Result<ToleranceChoice> parse_tolerance(const std::string& text);

struct CorrectnessFlags {
  std::uint64_t trials = 5;
  ToleranceChoice tolerance;
  std::string precision = "fp32";  // "fp32", "fp16", "bf16"
  bool tf32 = false;
  bool move_weights = true;  // false: constructors' own values, as earlier evaluators had
  bool reduce_shapes = true;
  double audit = 0.25;  // share of replayed candidates that are judged again without the recorder

  void add(CLI::App& app);
};

}  // namespace kw
