// The inputs of a function pair: {"x": {"shape": [4, 8], "dtype": "float32"}}.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "base/result.h"

namespace kw {

// What is wrong with what was given as input shapes, as text or as JSON.
Result<> check_input_shapes(std::string_view text);
Result<> check_input_shapes(const boost::json::value& value);

}  // namespace kw
