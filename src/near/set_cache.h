// The shingle sets of texts that were looked at lately.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "near/near.h"

namespace kw::near {

using Set = std::shared_ptr<const std::vector<std::uint64_t>>;

// At most max_bytes of sets stay; several threads may ask at once. A set over an eighth of its part of the
// cache is handed out and not kept.
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

}  // namespace kw::near
