// Source text without comments and strings, and the kinds of decorators.
#pragma once

#include <string>
#include <string_view>

namespace kw::corpus {

enum class Syntax { python, cuda };

// The text in equal length, with spaces in place of strings and comments; newlines stay.
std::string without_words(std::string_view text, Syntax syntax);

// Whether a decorator, as written or its name alone, tunes a kernel: triton.autotune, an autotune of a
// library's own, libtuner.
bool is_tuner(std::string_view decorator);

// Whether a decorator gives a kernel arguments that its launch leaves out: a tuner, or heuristics.
bool sets_arguments(std::string_view decorator);

}  // namespace kw::corpus
