// Normalised words of names, for comparing functions with different spellings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::pairs {

// "RMSNormKernel", "_rms_norm_fwd" → rms, norm; rms, norm, forward. Lower case, cut at '_' and at camel case,
// one spelling for words that have several ("bwd", "backward"), known compounds joined or split ("Si", "LU" →
// silu; "layernorm" → layer, norm), plurals in the singular. Omits words without information about the
// computation (kernel, triton, impl, ...) and numbers. At most 32 words.
std::vector<std::string> words_of(std::string_view name);

// Whether two lists of words contradict each other: one contains backward and the other does not, or they
// contain different members of one family (silu and gelu, quantize and dequantize, rms and layer norm).
// Returns the differing words; empty if there is no contradiction.
std::string contradiction(const std::vector<std::string>& a, const std::vector<std::string>& b);

// A parameter's name without pointer marks, in one spelling: "input_ptr", "x" → "x". Empty for strides,
// block sizes and similar parameters that only one of the two languages has.
std::string parameter_word(std::string_view name);

}  // namespace kw::pairs
