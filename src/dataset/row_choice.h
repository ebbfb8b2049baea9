// Which rows are kept of those that resemble each other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "dataset/row_files.h"
#include "near/near.h"

namespace kw::dataset {

struct DroppedRow {
  std::uint32_t row = 0;
  std::uint32_t kept = 0;
  double jaccard = 1;             // of prompt and completion together
  double completion_jaccard = 1;  // of the completions
  bool exact = false;
};

// What two rows are compared by; a text as near::join() has it.
std::string text_of(const table::TextRow& row);

// Within each group of rows that pairs connect, rows are looked at in the order of `better`; one that
// resembles a kept row in both ways is dropped. `fixed` rows are always kept.
Result<std::vector<DroppedRow>> choose_rows(const RowFiles& files, const std::vector<near::Pair>& pairs,
                                            const near::Parameters& parameters,
                                            const std::function<bool(std::uint32_t, std::uint32_t)>& better,
                                            const std::function<bool(std::uint32_t)>& fixed);

}  // namespace kw::dataset
