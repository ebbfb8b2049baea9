// The bytes of all that is allocated when a call begins, copied into memory of their own that can be
// exported.
#pragma once

#include <cstdint>
#include <vector>

#include "heap.h"
#include "recording_generated.h"

namespace kw::recorder {

class SavedState {
 public:
  // Replaces what was saved. The device is idle before and after. False: error_text() says why.
  bool save(const std::vector<Allocation>& blocks);
  // A descriptor of the memory for another process, -1 where there is none.
  int exported() const;
  void drop();

  std::uint64_t bytes() const { return bytes_; }
  // Each block's place in the memory.
  struct Saved {
    Allocation block;
    std::uint64_t at = 0;
  };
  const std::vector<Saved>& blocks() const { return blocks_; }

 private:
  bool copy_all(CUdeviceptr to);

  std::vector<Saved> blocks_;
  std::uint64_t bytes_ = 0;
  CUmemGenericAllocationHandle memory_ = 0;
};

}  // namespace kw::recorder
