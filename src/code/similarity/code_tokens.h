// Tokens of Python and C++ with identifiers renamed in order of appearance, so that renamed copies are equal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::near {

// Language properties for the code scanner.
enum class Language { python, cpp };

// Decides by the form of the lines; ambiguous text is Python.
Language language_of(std::string_view text);

// Keywords, builtins, modules and common functions of both languages. Includes names with two leading
// underscores, which C++ reserves and Python defines.
bool is_known_name(std::string_view name);

// The normalised string literal: the prefix in lower case, one kind of quotes in Python.
std::string plain_string(std::string_view literal);

// Whether the token is a string literal: quotes after at most three letters of prefix.
bool is_string(std::string_view token);

// Tokens with identifiers renamed in order of appearance, so that renamed copies are equal.
struct Token {
  std::uint32_t begin = 0;  // bytes in the text
  std::uint32_t end = 0;
  bool is_own_name =
      false;  // an identifier that the author chose: not after '.', no keyword, no known module
  // The name in f(name=...) if f may be the author's (in library.f(name=...) it is not an own name): it may
  // differ from the caller's variable of that name.
  bool is_keyword_argument = false;
};

// Tokens of Python or C++ without comments and white space, which includes Python's indentation. Normalises
// quotes, and omits a trailing comma before a closing bracket and docstrings, so that formatting makes no
// difference. Operators are tokens of one byte.
std::vector<Token> code_tokens(std::string_view text);
std::vector<Token> code_tokens(std::string_view text, Language language);

// SHA-1 in hex over the tokens, with own names replaced by their ordinal. Names inside f-strings stay, and
// those of called functions that the text does not define: they say what is computed.
std::string renamed_sha1(std::string_view text);

}  // namespace kw::near
