// A text as the symbols that windows are made of.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kw::leak {

// What formatting may change is no symbol: round brackets, semicolons, and what near::code_tokens leaves out.
struct Symbol {
  std::uint32_t begin = 0;  // bytes in the text
  std::uint32_t end = 0;
  std::uint64_t hash = 0;       // of the token; numbers and strings by their value
  std::uint32_t last = 0;       // of an own name: how many symbols ago it stood last; 0: never
  bool is_own = false;          // a name that its author chose, the attributes of self among them
  bool says_something = false;  // a name of others, a number, a string: no sign, no own name
};

// The text's symbols. Markdown fences part the text: an open quote in prose ends there. Where a docstring's
// beginning was cut off, what follows its end is read a second time, after the rest.
std::vector<Symbol> read_symbols(std::string_view text);

// The text's words, comments and prose among them, as they are written; none of them says something by
// itself.
std::vector<Symbol> read_words(std::string_view text);

}  // namespace kw::leak
