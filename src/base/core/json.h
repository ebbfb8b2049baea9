// Small helpers on Boost.JSON values.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace kw {

// Sorted keys, no spaces.
std::string canonical_json(const boost::json::value& value);

// The canonical form of a JSON text; other text stays unchanged.
std::string canonical_json_text(std::string_view text);

// Parses one JSON value; the error states the fault and its byte offset.
Result<boost::json::value> parse_json(std::string_view text);

// The string at the key; empty if it is absent, null or not a string.
std::optional<std::string> string_at(const boost::json::object& object, std::string_view key);
std::optional<double> number_at(const boost::json::object& object, std::string_view key);
std::optional<bool> bool_at(const boost::json::object& object, std::string_view key);

// An integer, also one that is written as 3.0, as in JSON Schema; empty for other values.
std::optional<std::int64_t> integer_of(const boost::json::value& value);

// An id: a string unchanged, an integer in digits; empty for other values.
std::optional<std::string> text_at(const boost::json::object& object, std::string_view key);

// The object or the list at the key; null if it is absent or of another type.
const boost::json::object* object_at(const boost::json::object& object, std::string_view key);
const boost::json::array* array_at(const boost::json::object& object, std::string_view key);

// A count: an integer as above, 0 or more.
std::optional<std::int64_t> count_at(const boost::json::object& object, std::string_view key);

// Null for an empty text.
boost::json::value text_or_null(std::string_view text);

template <typename T>
boost::json::value value_or_null(const std::optional<T>& value) {
  return value ? boost::json::value(*value) : boost::json::value();
}

}  // namespace kw
