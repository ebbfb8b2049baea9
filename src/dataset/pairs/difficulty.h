// Measures of a completion.
#pragma once

#include <cstdint>
#include <string_view>

#include "dataset/extract/harvest.h"
#include "dataset/units/row.h"

namespace kw::pairs {

// Of the code without comments and strings; whether the kernel is autotuned is not known here. `occurrences`:
// functions of the build with an equal hole, 0 for other completions.
corpus::Difficulty difficulty_of(std::string_view completion, harvest::Language language,
                                 std::uint64_t occurrences = 0);

}  // namespace kw::pairs
