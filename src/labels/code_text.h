// Source with its comments and strings blanked out, and calls in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kw::labels {

enum class Syntax { python, cuda };

// Of the same length: what stands in strings and comments becomes spaces, newlines stay.
std::string without_words(std::string_view text, Syntax syntax);

// Whether an identifier stands there by itself.
bool has_word(std::string_view code, std::string_view word);

// The arguments of each call of `.NAME(`, split at the commas of their own level; `code` without words.
std::vector<std::vector<std::string_view>> calls_of(std::string_view code, std::string_view name);

}  // namespace kw::labels
