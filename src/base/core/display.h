// Output to a terminal or a file: colours, widths, and text whose lengths are terminal cells, not bytes.
// Untrusted text is escaped first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// Style of output to a terminal or a file: colours and width.
enum class Colour { none, green, red, yellow, grey };

struct Style {
  bool colours = false;
  std::size_t width = 100;  // cells in a line

  std::string paint(std::string_view text, Colour colour) const;
};

// Colours on a terminal only, and not if NO_COLOR is set or TERM is "dumb". The width is the terminal's.
Style style_of(int fd);

bool is_terminal(int fd);

// As to_plain_text, and every character without a visible glyph (zero-width, direction of writing, byte
// order mark, tags) is replaced by its name, "<U+202E>", so that it can neither hide nor reorder text. The
// same applies to combining marks beyond the fourth on one character.
std::string visible(std::string_view bytes);

// The same on one line: line feeds become names, tabs become blanks. For untrusted text within messages.
std::string visible_line(std::string_view bytes);

// The text without commands for a runner of workflows, which executes lines that begin with "::" and "##[" in
// any place of a line: a backslash breaks both.
std::string without_commands(std::string_view text);

// The same where a runner reads this process's output (GITHUB_ACTIONS is true), else the text. For all output
// that contains foreign text, names of files included.
std::string for_log(std::string text);

// The width of a line of visible text in cells: two for a wide character, none for a combining one.
std::size_t cells(std::string_view line);

// The front of a line, at most so many cells wide; a shortened line ends with "…".
std::string fitted(std::string_view line, std::size_t most);

// `count` cells of a line from cell `begin` on, with "…" on each shortened side.
std::string window(std::string_view line, std::size_t begin, std::size_t count);

// The last lines of the text, at most max_bytes: a compiler prints its most important messages last.
std::string tail_of(std::string_view text, std::size_t max_bytes);

// Lines of at most so many cells, broken between words, and within words that are longer than a line.
std::vector<std::string> wrapped(std::string_view text, std::size_t most);

}  // namespace kw
