// Windows of symbols in a row, as hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leak/symbols.h"

namespace kw::leak {

struct Window {
  std::uint64_t key = 0;      // what windows are looked up by: own names by the order in which they appear
  std::uint32_t written = 0;  // the same with names as they are written
};

// All windows of `width` symbols, by their first symbol. A window of nothing but own names and signs (a
// list of arguments, prose) goes by the names as they are written.
std::vector<Window> read_windows(std::span<const Symbol> symbols, std::size_t width);

}  // namespace kw::leak
