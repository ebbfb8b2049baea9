// The checks of a recording's parts, once its structure has been verified. Errors name the part.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "recording/elf.h"
#include "recording/memory.h"
#include "recording/recording.h"

namespace kw::recording {

// Bytes that a recording names, summed up: lists in such a file may lie over one another, and what is small
// as a file must not be large for whoever reads all of it.
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

// Each cubin's image as an ELF file, in the recording's order.
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
