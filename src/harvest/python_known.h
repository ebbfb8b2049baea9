// Names that Python itself and the usual libraries provide.
#pragma once

#include <string_view>

namespace kw::harvest {

bool is_builtin(std::string_view name);

// A module of the standard library, torch, triton, numpy or packaging, by its first part.
bool is_known_module(std::string_view module);

// One in which kernels are written, by the module's first part.
bool is_kernel_language(std::string_view module);

}  // namespace kw::harvest
