// Numbers with their nouns, for reports, cards and messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kw {

// "1,234,567"
std::string grouped(std::uint64_t number);

// "1 row", "2 rows", "1,234 rows". `several` is the form for any number but 1; empty: `one` with an s. Both
// may contain the verb: counted(n, "row is", "rows are").
std::string counted(std::uint64_t number, std::string_view one, std::string_view several = {});

}  // namespace kw
