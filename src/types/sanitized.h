// What the checks of --sanitize found in a right candidate. A part of the verdict; docs/sanitize.md describes
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "types/enums.h"

namespace kw {

// not_run: it proves nothing, and changes no status.
BOOST_DEFINE_ENUM_CLASS(SanitizerOutcome, clean, found, not_run)

struct SanitizerFinding {
  std::string kind = {};                   // "read of 4 bytes", "access beyond the end", "hazard"
  std::optional<std::string> kernel = {};  // its name; null: not known
  std::optional<std::string> tensor = {};  // as errors name it; null: not known
  std::optional<std::string> place = {};   // in the kernel's source: "kernel.py:12"
};

struct SanitizerCheck {
  Sanitizer check = Sanitizer::bounds;
  SanitizerOutcome outcome = SanitizerOutcome::not_run;
  std::optional<std::string> why_not = {};  // set exactly where it was not run
  std::vector<SanitizerFinding> findings = {};
};

}  // namespace kw
