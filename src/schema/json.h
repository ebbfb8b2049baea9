// Small helpers on Boost.JSON values.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

// Sorted keys, no spaces.
std::string canonical_json(const boost::json::value& value);

// The canonical form of a JSON text; text that is not JSON stands for itself.
std::string canonical_json_text(std::string_view text);

// What is wrong with the text, and at which byte, when it is not one JSON value.
Result<boost::json::value> parse_json(std::string_view text);

// The string at the key, or nothing when it is absent, null or no string.
std::optional<std::string> string_at(const boost::json::object& object, std::string_view key);
std::optional<double> number_at(const boost::json::object& object, std::string_view key);
std::optional<bool> bool_at(const boost::json::object& object, std::string_view key);

// An integer, also one that is written 3.0, as JSON Schema counts them; nothing for anything else.
std::optional<std::int64_t> integer_of(const boost::json::value& value);

// A string as it is, an integer in digits, nothing for anything else: ids come as either.
std::optional<std::string> text_at(const boost::json::object& object, std::string_view key);

}  // namespace kw
