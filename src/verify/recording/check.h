// The checks of a recording's memory, cubins, launches and operations, once its structure has been verified.
// Errors name the part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/result.h"
#include "recording_generated.h"
#include "verify/recording/elf.h"
#include "verify/recording/recording.h"

namespace kw::recording {

// Whether [address, address + bytes) is inside the span. The sums cannot overflow.
bool lies_in(const Span& span, std::uint64_t address, std::uint64_t bytes);

// Bytes from the first byte of the first row to the last byte of the last row; empty if that overflows, or
// if rows overlap because the pitch is less than a row. 0 for no rows or empty rows.
std::optional<std::uint64_t> reach(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t pitch);

// Heap and arena, checked: see of().
class Memory {
 public:
  // Checks that heap and arena begin at their fixed addresses and are not too large, that committed ranges
  // are inside the heap and do not overlap, that state and scratch are inside the heap, and that blocks of
  // the state do not overlap and have their bytes inside the state's memory.
  static Result<Memory> of(const Recording& recording);

  // Whether these bytes are inside the heap or the arena. True for zero bytes.
  bool holds(std::uint64_t address, std::uint64_t bytes) const;
  bool holds(std::uint64_t address, std::optional<std::uint64_t> bytes) const {
    return bytes && holds(address, *bytes);
  }

 private:
  Span heap_;
  Span arena_;
};

// Sums the bytes that a recording refers to: lists in such a file may overlap, and a small file must not
// expand to much data for its readers.
class Budget {
 public:
  bool take(std::uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  std::uint64_t left_ = max_file_bytes;
};

// Parses each cubin's image as an ELF file, in the recording's order.
Result<std::vector<Elf>> check_cubins(const Recording& recording, Checks checks, Budget& budget);

struct Surroundings {
  const Memory& memory;
  const std::vector<Elf>& cubins;
  std::size_t streams = 0;
  Budget& budget;
};

Result<> check_launch(const Launch& launch, const Surroundings& around);
Result<> check_operations(const Recording& recording, const Surroundings& around);

}  // namespace kw::recording
