// The text that keys are made of. What is exported keeps its own spaces.
#pragma once

#include <string>
#include <string_view>

namespace kw::corpus {

// CRLF becomes LF, then the text is stripped, runs of spaces and tabs become one space, three and more
// newlines become two: `re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", text.replace("\r\n",
// "\n").strip()))`.
std::string normalise(std::string_view text);

// SHA-1 in hex of "normalised prompt|||normalised completion", without spaces around the bars.
std::string row_key(std::string_view prompt, std::string_view completion);

}  // namespace kw::corpus
