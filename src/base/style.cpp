#include "base/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace kw {
namespace {

bool wants_none() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour && *no_colour) || (terminal && std::string_view(terminal) == "dumb");
}

constexpr std::size_t narrowest = 40;  // narrower ones are treated like this

std::size_t width_of(int fd) {
  struct winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return Style{}.width;
  return std::max<std::size_t>(size.ws_col, narrowest);
}

int code_of(Colour colour) {
  switch (colour) {
    case Colour::green:
      return 32;
    case Colour::red:
      return 31;
    case Colour::yellow:
      return 33;
    case Colour::grey:
      return 90;
    case Colour::none:
      break;
  }
  return 0;
}

}  // namespace

bool is_terminal(int fd) {
  return ::isatty(fd) == 1;
}

Style style_of(int fd) {
  return {is_terminal(fd) && !wants_none(), width_of(fd)};
}

std::string Style::paint(std::string_view text, Colour colour) const {
  if (!colours || colour == Colour::none) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(colour), text);
}

}  // namespace kw
