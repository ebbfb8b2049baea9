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
  // The name in f(name=...), where f may be the author's (in library.f(name=...) it is no own name): it need
  // not be what the caller calls by the same word.
  bool is_keyword_argument = false;
};

// Tokens of Python or C++ without comments and white space; quotes are one kind, a trailing comma before a
// closing bracket and a docstring are left out, so that another formatting is the same. White space counts
// for nothing, so Python's indentation does not either. Operators are tokens of one byte.
std::vector<Token> code_tokens(std::string_view text);

// SHA-1 in hex over the tokens, own names replaced by their ordinal. Names inside f-strings stay.
std::string renamed_sha1(std::string_view text);

}  // namespace kw::near
