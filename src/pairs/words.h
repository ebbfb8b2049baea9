// The words of names: what two functions that do the same share, however they are spelt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::pairs {

// "RMSNormKernel", "_rms_norm_fwd" → rms, norm; rms, norm, forward. Lower case, cut at '_' and at camel case,
// one spelling for words that have several ("bwd", "backward"), known compounds put together or taken apart
// ("Si", "LU" → silu; "layernorm" → layer, norm), plurals in the singular. Words that say nothing about what
// is computed (kernel, triton, impl, ...) and numbers are left out. At most 32 words.
std::vector<std::string> words_of(std::string_view name);

// Whether two lists of words exclude that the same is computed: one says backward and the other does not, or
// they name different members of one family (silu and gelu, quantize and dequantize, rms and layer norm). The
// words that differ; empty where nothing does.
std::string contradiction(const std::vector<std::string>& a, const std::vector<std::string>& b);

// A parameter's name without what marks it as a pointer, in one of several spellings: "input_ptr", "x" → "x".
// Empty for strides, block sizes and the like, which one of the two languages does not have.
std::string parameter_word(std::string_view name);

}  // namespace kw::pairs
