// Percent-encoding, as in URLs.
#pragma once

#include <string>
#include <string_view>

namespace kw {

// "%2F" becomes "/"; what is no escape stays, and '+' is a plus.
std::string percent_decoded(std::string_view text);

}  // namespace kw
