#include "leak/windows.h"

#include "leak/mix.h"

namespace kw::leak {
namespace {

Window read_window(std::span<const Symbol> window) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  std::uint64_t renamed = 0x243f6a8885a308d3U;
  std::uint64_t written = 0x13198a2e03707344U;
  bool says_something = false;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const Symbol& symbol = window[i];
    says_something = says_something || symbol.says_something;
    written = (written ^ symbol.hash) * factor;
    written ^= written >> 29;
    // How long ago a name stood says the same as its number in the order of first appearance.
    std::uint64_t code =
        symbol.is_own ? (symbol.last != 0 && symbol.last <= i ? symbol.last : 0) : symbol.hash;
    renamed = (renamed ^ code) * factor;
    renamed ^= renamed >> 29;
  }
  written = mix(written);
  return {says_something ? mix(renamed) : mix(written + 1), static_cast<std::uint32_t>(written)};
}

}  // namespace

std::vector<Window> read_windows(std::span<const Symbol> symbols, std::size_t width) {
  std::vector<Window> windows;
  if (width == 0 || symbols.size() < width) return windows;
  windows.reserve(symbols.size() - width + 1);
  for (std::size_t first = 0; first + width <= symbols.size(); ++first)
    windows.push_back(read_window(symbols.subspan(first, width)));
  return windows;
}

}  // namespace kw::leak
