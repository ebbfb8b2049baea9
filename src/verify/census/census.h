// The census: the keys of the machine code of all kernels in an installation's libraries. It is made from the
// libraries' files, once, without a GPU and without a candidate.
#pragma once

#include <cstdint>
#include <vector>

#include "base/core/result.h"
#include "verify/census/libraries.h"

namespace kw::census {

// Keys as recording::code_key makes them. Two kernels have the same key by chance with a probability of
// 2^-64: for a kernel and a census of 200,000 that is 1e-14.
class Census {
 public:
  Census() = default;
  explicit Census(std::vector<std::uint64_t> keys);

  bool has(std::uint64_t key) const;
  const std::vector<std::uint64_t>& keys() const { return keys_; }

 private:
  std::vector<std::uint64_t> keys_;  // sorted, each once
};

// The census of these libraries. An error if one of them cannot be read, if they hold no kernel, or if more
// than one cubin in a hundred is unreadable: such a census would take a library's kernels for a candidate's.
Result<Census> take_census(const std::vector<Library>& libraries, unsigned capability);

}  // namespace kw::census
