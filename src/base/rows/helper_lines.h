// Runs one of our Python helpers, which print JSON lines and report an error as {"error": {"what",
// "remedy"}}.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/process/child.h"

namespace kw {

// Runs the helper to its end. Returns the objects that it printed, or the error that it reported.
Result<std::vector<boost::json::object>> helper_lines(const std::vector<std::string>& argv,
                                                      process::HelperErrors errors);

}  // namespace kw
