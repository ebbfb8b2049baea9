// Small helpers on text.
#pragma once

#include <string>
#include <string_view>

namespace kw {

std::string errno_text(int error);

bool is_utf8(std::string_view bytes);

// Invalid sequences become U+FFFD, so that what a candidate printed can stand in JSON.
std::string to_utf8(std::string_view bytes);

// As to_utf8, and control characters other than newline and tab become U+FFFD too: a candidate's words must
// not drive the reader's terminal.
std::string to_plain_text(std::string_view bytes);

// At most max_bytes, cut between characters, with a note of how much was left out.
std::string shorten(std::string_view text, std::size_t max_bytes);

std::string_view trim(std::string_view text);

}  // namespace kw
