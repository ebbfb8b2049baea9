// Converts a text to symbols, and hashes windows of consecutive symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kw::leak {

// Excludes characters that formatting may change: round brackets, semicolons, and everything that
// near::code_tokens excludes.
struct Symbol {
  std::uint32_t begin = 0;  // bytes in the text
  std::uint32_t end = 0;
  std::uint64_t hash = 0;       // of the token; numbers and strings by their value
  std::uint32_t last = 0;       // of an own name: distance to its last occurrence in symbols; 0: none
  bool is_own = false;          // a name that the author chose, including attributes of self
  bool says_something = false;  // a foreign name, a number or a string; not a sign or an own name
};

// The text's symbols. Markdown fences divide the text: an open quote in prose ends there. If the beginning
// of a docstring is cut off, the text after its end is read a second time, after the rest.
std::vector<Symbol> read_symbols(std::string_view text);

// The text's words as written, including comments and prose. A single word is no evidence.
std::vector<Symbol> read_words(std::string_view text);

// Hashes of windows of consecutive symbols.
struct Window {
  std::uint64_t key = 0;      // lookup key: own names by their order of appearance
  std::uint32_t written = 0;  // the same with names as written
};

// All windows of `width` symbols, by their first symbol. A window of only own names and punctuation (a list
// of arguments, prose) uses the names as written.
std::vector<Window> read_windows(std::span<const Symbol> symbols, std::size_t width);

}  // namespace kw::leak
