// What the scanner of code needs to know about languages.
#pragma once

#include <string>
#include <string_view>

namespace kw::near {

enum class Language { python, cpp };

// By what the lines look like; a piece that could be either is Python.
Language language_of(std::string_view text);

// Keywords, builtins, modules and functions that everyone calls by the same name, of both languages. Names
// with two underscores in front are known: no author may choose them in C++, and Python has given them a
// meaning.
bool is_known_name(std::string_view name);

// A string literal as the hash sees it: the prefix in small letters, one kind of quotes in Python.
std::string plain_string(std::string_view literal);

// Whether the token is a string literal: quotes after at most three letters of prefix.
bool is_string(std::string_view token);

}  // namespace kw::near
