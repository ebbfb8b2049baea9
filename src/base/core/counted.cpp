#include "base/core/counted.h"

#include <fmt/format.h>

#include <cstddef>

namespace kw {

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view several) {
  if (number == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", grouped(number), one)
                         : fmt::format("{} {}", grouped(number), several);
}

}  // namespace kw
