// Names of licences: how people write them, and what SPDX calls them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "licence/words.h"

namespace kw::licence {

// The id as SPDX spells it now: "apache-2.0" → "Apache-2.0", "GPL-3.0" → "GPL-3.0-only", "BSD-3" →
// "BSD-3-Clause". An id that is not known stays as it is.
std::string canonical_id(std::string_view id);

// An exception that only adds permissions: "LLVM-exception". Empty where it is not known.
std::string canonical_exception(std::string_view exception);

// The licence that the text names and nothing else: "MIT License", "Apache Software License".
std::optional<std::string> id_of_name(std::string_view text);

// A licence named somewhere in a text.
struct Mention {
  std::string spdx;
  std::size_t at = 0;   // in words.text
  std::size_t end = 0;  // of the name
};

// Names that stand for a licence beyond doubt: with "licence" in them or shortly before them, or of the GNU
// family; and words that forbid (non-commercial, proprietary), as a LicenseRef.
std::vector<Mention> mentions(const Words& words);

}  // namespace kw::licence
