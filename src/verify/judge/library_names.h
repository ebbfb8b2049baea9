// Kernels that their names give to PyTorch's libraries.
#pragma once

#include <set>
#include <string>

namespace kw::verify {

// Whether the mangled name of a kernel is that of a library's. The census does not know what a library keeps
// in a format of its own (cuBLASLt) or compiles when it runs (cuDNN, cuFFT). `native_kernels` are the names
// of the __global__ functions of the candidate's source, which are its own.
bool is_named_like_a_library(const std::string& kernel, const std::set<std::string>& native_kernels);

}  // namespace kw::verify
