// What is known of PyTorch's functions by their full names.
#pragma once

#include <string_view>

namespace kw::syntax {

// Whether a call of this name ("torch.no_grad", "torch.empty_like") allocates, asks or sets something, and
// computes no tensor from others.
bool computes_nothing(std::string_view path);

}  // namespace kw::syntax
