// An estimate of the number of tokens of code, without a tokenizer.
#pragma once

#include <cstddef>
#include <string_view>

namespace kw::pairs {

// For byte-level BPE with the pre-tokenisation of Qwen2 and Qwen3: words with one character before them,
// single digits, runs of punctuation, runs of white space; each with its average number of tokens in Triton
// code. One pass. docs/dataset_pairs.md states its error.
std::size_t estimated_tokens(std::string_view text);

}  // namespace kw::pairs
