// How much one archive may unpack to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collect/collect.h"

namespace kw::collect {

class Budget {
 public:
  Budget(const Limits& limits, std::uint64_t packed_bytes, std::uint64_t& unpacked_in_all)
      : limits_(limits), packed_(packed_bytes), all_(unpacked_in_all) {}

  // Whether another entry, or so many more unpacked bytes, are still within the limits.
  bool entry() { return ++entries_ <= limits_.entries; }
  bool bytes(std::uint64_t count);

 private:
  const Limits& limits_;
  std::uint64_t packed_;
  std::uint64_t& all_;
  std::uint64_t own_ = 0;
  std::uint64_t entries_ = 0;
};

}  // namespace kw::collect
