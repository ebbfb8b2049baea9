// Finds rows whose code is equal but for comments, layout and the author's names.
#pragma once

#include <string>

#include "base/rows/rows.h"

namespace kw::dataset {

// Equal for such rows; empty where a change of words may change the meaning: completions of prose, and those
// of a few tokens. A prompt of prose must be equal but for spaces.
std::string renamed_key(const table::TextRow& row);

}  // namespace kw::dataset
