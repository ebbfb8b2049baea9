#include "verify/judge/library_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/core/text.h"

namespace kw::verify {
namespace {

// Prefixes and parts of the mangled names of kernels of PyTorch and of its libraries.
constexpr std::array<std::string_view, 28> library_words{
    "at6native", "at4cuda", "at_cuda",  "cutlass", "cublas",        "cudnn",   "cusolver",
    "cusparse",  "cufft",   "ampere_",  "sm80_",   "sm90_",         "nvjet",   "hopper_",
    "volta_",    "turing_", "maxwell_", "cub3",    "CUB_",          "thrust",  "splitKreduce",
    "gemv",      "gemmk1",  "flash",    "fmha_",   "pytorch_flash", "triton_", "cupy_"};

bool has_library_word(std::string_view kernel) {
  return std::ranges::any_of(library_words, [&](std::string_view word) { return kernel.contains(word); });
}

}  // namespace

// A function of the source with that mangled name, in no namespace or in one without such a word, is its own.
bool is_named_like_a_library(const std::string& kernel, const std::set<std::string>& native_kernels) {
  if (!has_library_word(kernel)) return false;
  return std::ranges::none_of(native_kernels, [&](const std::string& name) {
    const std::string mangled = fmt::format("{}{}", name.size(), name);
    if (kernel == name || kernel.starts_with("_Z" + mangled)) return true;
    const std::size_t at = kernel.find(mangled);
    if (at == std::string::npos || at == 0 || is_digit(kernel[at - 1])) return false;
    return !has_library_word(kernel.substr(0, at)) && !has_library_word(kernel.substr(at + mangled.size()));
  });
}

}  // namespace kw::verify
