// The texts of a pair's row.
#pragma once

#include <string>
#include <string_view>

#include "corpus/unit.h"

namespace kw::pairs {

std::string cuda_prompt(std::string_view code);
std::string torch_prompt(std::string_view code);

// The kernel with its context and the function that launches it, so that it can be called. A method, or a
// launch at top level, is no function that stands alone: then context and kernel only. `import torch`,
// `triton` or `math` is put in front where the launcher needs it and the context lacks it; what else the
// launcher calls is not looked for.
std::string with_launcher(const corpus::Unit& unit);

}  // namespace kw::pairs
