// How text goes to a terminal or a file: with colours where they are wanted, and how wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kw {

enum class Colour { none, green, red, yellow, grey };

struct Style {
  bool colours = false;
  std::size_t width = 100;  // cells in a line

  std::string paint(std::string_view text, Colour colour) const;
};

// Colours only on a terminal, and not where NO_COLOR is set to anything or TERM is "dumb"; a terminal's own
// width.
Style style_of(int fd);

bool is_terminal(int fd);

}  // namespace kw
