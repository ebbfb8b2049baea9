// Text as a terminal shows it. What strangers wrote is made visible first; lengths are cells, not bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// As to_plain_text, and every character without a glyph of its own (zero-width, direction of writing, byte
// order mark, tags) becomes its name, "<U+202E>": nothing is hidden, and nothing changes the order of others.
// So do combining marks beyond the fourth on one character.
std::string visible(std::string_view bytes);

// The same on one line: line feeds are named, tabs are blanks. For what stands beside words of ours.
std::string visible_line(std::string_view bytes);

// How many cells a line of visible text takes: two for a wide character, none for a combining one.
std::size_t cells(std::string_view line);

// The front of a line in at most so many cells; where something is missing, "…" is the last of them.
std::string fitted(std::string_view line, std::size_t most);

// `count` cells of a line from cell `begin` on, with "…" on each side where something is missing.
std::string window(std::string_view line, std::size_t begin, std::size_t count);

// At most max_bytes from the end, from the start of a line on: a compiler says what matters last.
std::string tail_of(std::string_view text, std::size_t max_bytes);

// Lines of at most so many cells, broken between words, and within a word that is longer than a line.
std::vector<std::string> wrapped(std::string_view text, std::size_t most);

}  // namespace kw
