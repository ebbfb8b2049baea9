// Parts of the join: connected components, a cache of shingle sets of recently used texts, and the exact
// Jaccard index of many pairs in several threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "code/similarity/near.h"

namespace kw::near {

// Connected components.
class Components {
 public:
  explicit Components(std::uint32_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), std::uint32_t{0});
  }

  // The smallest number in the component.
  std::uint32_t of(std::uint32_t number) {
    while (parents_[number] != number) {
      parents_[number] = parents_[parents_[number]];
      number = parents_[number];
    }
    return number;
  }

  bool together(std::uint32_t a, std::uint32_t b) { return of(a) == of(b); }

  void connect(std::uint32_t a, std::uint32_t b) {
    a = of(a);
    b = of(b);
    if (a > b) std::swap(a, b);
    parents_[b] = a;
  }

 private:
  std::vector<std::uint32_t> parents_;
};

using Set = std::shared_ptr<const std::vector<std::uint64_t>>;

// Keeps at most max_bytes of sets; several threads may call it. Returns a set over an eighth of its part of
// the cache without storing it.
class SetCache {
 public:
  SetCache(const TextAt& text, const Parameters& parameters, std::uint64_t max_bytes)
      : text_(text), parameters_(parameters), part_bytes_(max_bytes / parts) {}

  Result<Set> at(std::uint32_t number);

 private:
  static constexpr std::size_t parts = 16;
  struct Kept {
    std::uint32_t number = 0;
    Set set;
  };
  struct Part {
    std::mutex mutex;
    std::list<Kept> latest_first;
    std::unordered_map<std::uint32_t, std::list<Kept>::iterator> places;
    std::uint64_t bytes = 0;
  };

  static std::uint64_t bytes_of(const Set& set);
  Set find(Part& part, std::uint32_t number);
  void keep(Part& part, std::uint32_t number, const Set& set);

  const TextAt& text_;
  const Parameters& parameters_;
  std::uint64_t part_bytes_;
  std::array<Part, parts> parts_;
};

// Computes the exact Jaccard index of many pairs in several threads.
struct VerifyOptions {
  unsigned threads = 1;
  double threshold = 0;
  std::function<bool()> stop;
};

// Sets `jaccard`; -1 if it is under the threshold. Of several errors, returns that of the first pair.
Result<> verify(std::span<Pair> pairs, SetCache& sets, const VerifyOptions& options);

}  // namespace kw::near
