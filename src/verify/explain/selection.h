// Selection of verdicts by words: the value of --only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "types/enums.h"

namespace kw::explain {

// Verdicts with at least one of these words. Without words it holds all.
struct Selection {
  std::vector<std::string> words;

  // `why` is the error class, the reason why the result does not count, or empty.
  bool holds(Status status, std::optional<bool> counts, std::string_view why) const;
};

// "failed,library_only". A word is "failed" (all that are not correct and counting), "right" (correct and
// counting), "wrong" (incorrect), another status, an error class, or a reason why a result does not count.
Result<Selection> parse_selection(const std::string& text);

}  // namespace kw::explain
