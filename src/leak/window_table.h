// Which references hold a window, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leak/windows.h"

namespace kw::leak {

// One reference's windows, and the benchmark that it is of.
struct ReferenceWindows {
  std::vector<Window> windows;
  std::uint32_t benchmark = 0;
};

// The windows of all references. What many references of one benchmark share is what everyone writes: there
// it is not in the table.
class WindowTable {
 public:
  struct Posting {
    std::uint32_t reference = 0;
    std::uint32_t position = 0;  // of the window in it
  };

  // Nor is any window that `silent` holds.
  explicit WindowTable(const std::vector<ReferenceWindows>& references, std::span<const Window> silent = {});

  // Where the window stands; empty where it does not, or says nothing.
  std::span<const Posting> find(std::uint64_t key) const;

  // Windows of the reference that are in the table.
  std::uint32_t telling(std::uint32_t reference) const { return telling_[reference]; }
  // How many of them stand before this one in its reference.
  std::uint32_t rank(const Posting& at) const { return ranks_[starts_[at.reference] + at.position]; }
  // The hash of this one with names as written.
  std::uint32_t written(const Posting& at) const { return written_[starts_[at.reference] + at.position]; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t first = 0;  // of its postings
    std::uint32_t count = 0;  // 0: a free slot
  };
  void fill_slots(const std::vector<Slot>& groups);
  void number_windows(const std::vector<ReferenceWindows>& references);

  std::vector<Posting> postings_;
  std::vector<Slot> slots_;  // open addressing; their number is a power of two
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> written_;
  std::vector<std::uint32_t> telling_;
};

// Texts of a benchmark that may share a window before it says nothing: 8% of them, at least 3, at most 32.
std::size_t most_sharing(std::size_t texts);

}  // namespace kw::leak
