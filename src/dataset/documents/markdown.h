// A copy of a Markdown text with equal blocks but almost no inline markup. The inline parser takes quadratic
// time on hostile text, and only blocks are needed.
#pragma once

#include <string>
#include <string_view>

namespace kw::documents {

// Has the text's length in bytes. Replaces characters of inline markup by control characters, and the text's
// own control characters by '?', so that unmasked() can restore the rest.
std::string masked(std::string_view text);

std::string unmasked(std::string_view text);

}  // namespace kw::documents
