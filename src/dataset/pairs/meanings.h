// Names that mean two things in one row.
#pragma once

#include <string>
#include <string_view>

namespace kw::pairs {

// A name that two statements at module level bind to different things; empty where there is none.
std::string name_of_two_things(std::string_view python);

// A name that one text imports, and the other one binds to something else; empty where there is none.
// Functions of one name are none: a rewrite often has the name of what it rewrites.
std::string name_of_two_things(std::string_view python, std::string_view other);

}  // namespace kw::pairs
