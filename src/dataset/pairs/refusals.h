// Reasons for which a row or a pair is refused: a name that means two things in it (meanings.cpp), and a
// rewrite that cannot stand in the place of what it rewrites (same_call.cpp).
#pragma once

#include <string>
#include <string_view>

namespace kw::pairs {

// A name that two statements at module level bind to different things; empty where there is none.
std::string name_of_two_things(std::string_view python);

// A name that one text imports, and the other one binds to something else; empty where there is none.
// Functions of one name are none: a rewrite often has the name of what it rewrites.
std::string name_of_two_things(std::string_view python, std::string_view other);

// Why the launcher of a rewrite cannot be called as the PyTorch function is, or answers another thing; empty
// where no reason is seen. Both are texts of one function; a class has no reason.
std::string call_difference(std::string_view reference, std::string_view launcher);

// Whether the kernel limits values by a number and the reference limits nothing.
bool clamps_alone(std::string_view reference, std::string_view kernel);

}  // namespace kw::pairs
