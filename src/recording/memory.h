// The device memory that a recording speaks of, and whether what it touches lies in it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "recording_generated.h"

namespace kw::recording {

// Whether [address, address + bytes) lies within the span. No sum overflows on the way.
bool lies_in(const Span& span, std::uint64_t address, std::uint64_t bytes);

// From the first byte of the first row to the last of the last one; nothing where that overflows, or where
// rows overlap because the pitch is less than a row. No rows, or empty ones: 0.
std::optional<std::uint64_t> reach(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t pitch);

// Heap and arena, checked: see of().
class Memory {
 public:
  // The heap begins at its fixed address, as does the arena, and neither is too large; what was committed
  // lies in the heap, none of it twice; state and scratch lie in the heap; blocks of the state do not
  // overlap, and their bytes lie in the state's memory.
  static Result<Memory> of(const Recording& recording);

  // Whether these bytes lie in the heap, or in the arena. No bytes lie anywhere.
  bool holds(std::uint64_t address, std::uint64_t bytes) const;
  bool holds(std::uint64_t address, std::optional<std::uint64_t> bytes) const {
    return bytes && holds(address, *bytes);
  }

 private:
  Span heap_;
  Span arena_;
};

}  // namespace kw::recording
