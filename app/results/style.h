// Colours, where they are wanted.
#pragma once

#include <string>
#include <string_view>

namespace kw {

enum class Colour { none, green, red, yellow, grey };

struct Style {
  bool colours = false;

  std::string paint(std::string_view text, Colour colour) const;
};

// Colours only on a terminal, and not where NO_COLOR is set to anything or TERM is "dumb".
Style style_of(int fd);

bool is_terminal(int fd);

}  // namespace kw
