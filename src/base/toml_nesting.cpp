#include "base/toml_nesting.h"

#include <cstddef>

namespace kw {

bool nests_too_deeply(std::string_view toml) {
  constexpr std::size_t most_dots = 1000;
  std::size_t dots = 0;
  for (char c : toml) {
    if (c == '\n') dots = 0;
    if (c == '.' && ++dots > most_dots) return true;
  }
  return false;
}

}  // namespace kw
