// The review of a result: a sheet for a person, and the labels read back into it.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <span>

#include "base/result.h"
#include "scoring/output.h"

namespace kw::scoring {

struct ReviewRequest {
  std::size_t count = 0;
  std::uint64_t seed = 42;
  bool show_findings = false;  // else the reader judges without knowing what the checks say
  std::filesystem::path csv;
  std::filesystem::path markdown;
};

// Draws outputs, writes both sheets, and notes in the result which are asked for. A result that has labels
// already keeps them.
Result<> write_review(std::span<const Output> outputs, const ReviewRequest& request,
                      boost::json::object& result);

// Labels of a filled-in sheet into the result, with their agreement with the automatic checks. A label of the
// same reviewer on the same target takes the place of the earlier one. Rows that cannot be read are named in
// the result.
Result<> take_review(const std::filesystem::path& sheet, boost::json::object& result);

}  // namespace kw::scoring
