// A copy of a Markdown text that keeps its blocks and has next to nothing for the parser of inline text to
// do: its time would be quadratic on hostile text, and only blocks are wanted.
#pragma once

#include <string>
#include <string_view>

namespace kw::documents {

// Byte for byte as long as the text. What inline text is made of becomes control characters; the text's own
// own control characters become '?', so that unmasked() can undo the rest.
std::string masked(std::string_view text);

std::string unmasked(std::string_view text);

}  // namespace kw::documents
