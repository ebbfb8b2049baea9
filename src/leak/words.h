// Sets of words, as hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kw::leak {

using WordSet = std::vector<std::uint64_t>;  // sorted, each once

// Words are runs of ASCII letters, digits and '_', and of bytes over 127: \w+ but for signs outside of ASCII.
// Nothing where the text has more than `most` different words: it is not held in memory.
std::optional<WordSet> word_set(std::string_view text, std::size_t most);

// The end of the word that begins there; `at` itself where none does.
std::size_t end_of_word(std::string_view text, std::size_t at);

std::size_t common(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

}  // namespace kw::leak
