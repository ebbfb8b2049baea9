#pragma once

#include <string_view>

namespace kw {

// Whether TOML could nest tables so deeply that a reader which recurses runs out of stack: toml++ bounds the
// nesting of values, but not that of keys like a.a.a.a. True where a line has more than a thousand dots.
bool nests_too_deeply(std::string_view toml);

}  // namespace kw
