// Names of tasks for Harbor: a folder's name, which is also the second part of "ORG/NAME".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::exports {

// Whether Harbor takes the text as the first part of a name.
bool is_harbor_org(std::string_view text);

// A name for each id, in their order: "kernelbench/1/19" becomes "kernelbench-1-19". Names consist of lower
// case ASCII letters, digits, "-", "_" and ".", begin with a letter or digit, and have at most 80
// characters. A name that lost more of its id than "/" and case, or that two ids would share, ends in a
// part of the id's hash. The ids must differ.
Result<std::vector<std::string>> harbor_names(const std::vector<std::string>& ids);

}  // namespace kw::exports
