// Tokens with identifiers renamed in the order in which they appear, so that a copy under other names is a
// copy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::near {

struct Token {
  std::uint32_t begin = 0;  // bytes in the text
  std::uint32_t end = 0;
  bool is_own_name =
      false;  // an identifier that the author chose: not after '.', no keyword, no known module
};

// Tokens of Python or C++ without comments and white space; quotes are one kind, a trailing comma before a
// closing bracket and a docstring are left out, so that another formatting is the same.
std::vector<Token> code_tokens(std::string_view text);

// SHA-1 in hex over the tokens, own names replaced by their ordinal.
std::string renamed_sha1(std::string_view text);

}  // namespace kw::near
