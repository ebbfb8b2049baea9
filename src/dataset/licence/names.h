// Names of licences in common use, and their SPDX ids.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/licence/words.h"

namespace kw::licence {

// The current SPDX spelling of the id: "apache-2.0" → "Apache-2.0", "GPL-3.0" → "GPL-3.0-only", "BSD-3" →
// "BSD-3-Clause". An unknown id stays unchanged.
std::string canonical_id(std::string_view id);

// Whether the id is an SPDX identifier in common use, in its current spelling.
bool is_spdx_id(std::string_view id);

// What the licence of this id restricts: "commercial use". Empty for a licence without a restriction on use,
// or an unknown one.
std::string_view restriction_of(std::string_view id);

// An exception that only adds permissions: "LLVM-exception". Empty if it is unknown.
std::string canonical_exception(std::string_view exception);

// The licence if the text is only its name: "MIT License", "Apache Software License".
std::optional<std::string> id_of_name(std::string_view text);

// A licence named somewhere in a text.
struct Mention {
  std::string spdx;
  std::size_t at = 0;   // in words.text
  std::size_t end = 0;  // of the name
};

// Unambiguous names of licences: with "licence" in or shortly before the name, or of the GNU family; and
// restrictive words (non-commercial, proprietary), as a LicenseRef.
std::vector<Mention> mentions(const Words& words);

}  // namespace kw::licence
