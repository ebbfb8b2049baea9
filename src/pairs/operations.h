// What a kernel computes with: exponentials, reductions, atomics, ... read from its words alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::pairs {

// A set of operations, one bit each.
using Operations = std::uint32_t;

// Operations that the text names, in CUDA's words or in Triton's or PyTorch's: `__expf`, `tl.exp2`. Comments
// count too. One pass over the text.
Operations operations_in(std::string_view text);

std::vector<std::string> operation_names(Operations operations);

}  // namespace kw::pairs
