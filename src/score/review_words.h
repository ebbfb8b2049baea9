// What writing and reading a review sheet have in common. Private to this folder.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace kw::score {

enum class ReviewColumn { target, label, reviewer, note, at };
inline constexpr std::array<std::string_view, 5> review_columns = {"target", "label", "reviewer", "note",
                                                                   "at"};

// A target as a sheet shows it: on one line, without what would drive a terminal, no blanks at the ends.
std::string shown_target(std::string_view target);

}  // namespace kw::score
