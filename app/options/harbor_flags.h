// Flags of `export --format harbor`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "loop/exports/harbor.h"
#include "loop/refine/settings.h"

namespace kw {

struct HarborFlags {
  std::optional<refine::PromptStyle> style;   // none: wrapper
  std::optional<exports::HarborJudge> judge;  // none: service
  std::optional<bool> backward;               // none: off
  std::optional<std::string> org;             // none: kernelwright
  std::optional<std::string> image;           // none: one for the CPU
  std::optional<std::string> verifier_image;  // none: Python alone
  std::optional<std::uint64_t> gpus;          // none: 0

  void add(CLI::App& app);
  // Whether one of them was given.
  bool any() const { return style || judge || backward || org || image || verifier_image || gpus; }
  // An error for values that Harbor or a Dockerfile would not take.
  Result<exports::HarborOptions> options() const;
};

}  // namespace kw
