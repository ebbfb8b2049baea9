// JSON as model servers send it.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string_view>

namespace kw::llm {

// Nothing where the text is not JSON. Bytes that are not UTF-8 are let through, since a character may be cut
// between two chunks of a stream; half a surrogate pair ("\ud83d" alone) becomes U+FFFD.
std::optional<boost::json::value> parse_leniently(std::string_view text);

}  // namespace kw::llm
