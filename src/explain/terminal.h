// An Explanation on a terminal, or in a plain text file.
#pragma once

#include <string>

#include "base/style.h"
#include "explain/explanation.h"

namespace kw::explain {

Colour colour_of(Level level);

// The verdict in short, what happened, the error, the source with a caret, numbers, findings, advice, and how
// it came about; each line at most `style.width` cells, words that are longer apart. Whatever the candidate
// wrote is made visible and cut: it cannot drive the terminal.
std::string to_terminal(const Explanation& explanation, const Style& style);

}  // namespace kw::explain
