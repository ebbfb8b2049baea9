// The review of a result: writes a sheet for people, and reads its labels into the result.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <span>

#include "base/core/result.h"
#include "score/report/output.h"
#include "types/review.h"

namespace kw::scoring {

struct ReviewRequest {
  std::size_t count = 0;
  std::uint64_t seed = 42;
  bool show_findings = false;  // false: the reader judges without the checks' findings
  std::filesystem::path csv;
  std::filesystem::path markdown;
};

// Draws outputs, writes both sheets, and stores the drawn targets in the result. Keeps existing labels of
// the result.
Result<> write_review(std::span<const Output> outputs, const ReviewRequest& request,
                      boost::json::object& result);

// Adds the labels of a filled sheet, or of a log that `view` wrote (.jsonl), to the result, with their
// agreement with the automatic checks. A label replaces an earlier one of the same reviewer for the same
// target. The result lists unreadable rows.
Result<> take_review(const std::filesystem::path& sheet, boost::json::object& result);

// The agreement of each two reviewers on the answers that both have accepted or rejected: counts, the share
// of equal judgements, and Cohen's kappa.
boost::json::array reviewer_pairs_json(std::span<const Review> reviews);

}  // namespace kw::scoring
