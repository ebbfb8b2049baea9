// Maps windows to the references that contain them, and finds the references that share windows with a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataset/leakage/symbols.h"
#include "dataset/units/unit.h"

namespace kw::leak {

// One reference's windows, and its benchmark.
struct ReferenceWindows {
  std::vector<Window> windows;
  std::uint32_t benchmark = 0;
};

// The windows of all references. Excludes windows that many references of one benchmark share, since these
// are common code.
class WindowTable {
 public:
  struct Posting {
    std::uint32_t reference = 0;
    std::uint32_t position = 0;  // of the window in it
  };

  // Also excludes every window of `silent`.
  explicit WindowTable(const std::vector<ReferenceWindows>& references, std::span<const Window> silent = {});

  // The positions of the window; empty if it is unknown or excluded.
  std::span<const Posting> find(std::uint64_t key) const;

  // Number of the reference's windows in the table.
  std::uint32_t telling(std::uint32_t reference) const { return telling_[reference]; }
  // Number of its windows before this one in its reference.
  std::uint32_t rank(const Posting& at) const { return ranks_[starts_[at.reference] + at.position]; }
  // The hash of this window with names as written.
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

// The maximum number of a benchmark's texts that may share a window: 8% of them, at least 3, at most 32. A
// window shared by more is excluded.
std::size_t most_sharing(std::size_t texts);

// The matched part of a reference.
struct Extent {
  std::uint32_t windows = 0;  // of the reference's windows in the table, each once
  std::uint32_t run = 0;      // the longest piece: windows that follow each other in both
};

struct Match {
  std::uint32_t reference = 0;
  Extent renamed;                   // own names renamed alike
  Extent written;                   // names as written
  std::vector<corpus::Span> spans;  // of the text, in order, apart from each other
};

// The matches by reference, for references with at least `least_hits` common windows. Bounded: a window
// repeated in the text counts a few hundred times, and after a million hits the rest of the text is ignored.
std::vector<Match> find_matches(const WindowTable& table, std::span<const Symbol> symbols, std::size_t width,
                                std::size_t least_hits);

// Combines extents and spans of both matches; if a text contains one reference in two places, uses the
// larger.
void merge(Match& into, const Match& from);

}  // namespace kw::leak
