// A text's tokens and shingles as 64-bit hashes, in one pass and in blocks; and the inner loop of a sketch,
// the minimum of each of many hash functions over many numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "code/similarity/near.h"

namespace kw::near {

// Splits according to Parameters. Integer arithmetic only: equal on every machine of the same byte order.
class TokenHashes {
 public:
  TokenHashes(std::string_view text, bool words_only)
      : at_(text.data()), end_(text.data() + text.size()), words_only_(words_only) {}

  // The minimum number of spare places that next() needs.
  static constexpr std::size_t slack = 64;

  // Fills `out` from its start and leaves less than `slack` places free before the text's end; returns 0 at
  // its end.
  std::size_t next(std::span<std::uint64_t> out);

 private:
  std::size_t step(const char* piece, std::uint64_t* out);

  const char* at_;
  const char* end_;
  bool words_only_;
};

class Shingles {
 public:
  Shingles(std::string_view text, const Parameters& parameters);

  // The next hashes, in the order of the text; empty at its end.
  std::span<const std::uint64_t> next();

 private:
  void roll(std::size_t end);

  TokenHashes source_;
  std::size_t width_;
  std::uint64_t leaving_;  // the base to the power of width_: the weight of a token that leaves the window
  std::uint64_t rolling_ = 0;
  bool begun_ = false;
  std::vector<std::uint64_t> tokens_;  // width_ tokens of the previous block, then this block's
  std::vector<std::uint64_t> hashes_;
};

// Function i is factors[i] * x + addends[i], modulo 2^32. All three spans have the same size, a multiple of
// this number.
inline constexpr std::size_t lanes_together = 64;

struct Functions {
  std::span<const std::uint32_t> factors;
  std::span<const std::uint32_t> addends;
};

// minima[i] becomes the minimum of itself and of function i over `numbers`. Uses the widest vectors of the
// processor; the result is independent of the width.
void take_minima(const Functions& functions, std::span<const std::uint32_t> numbers,
                 std::span<std::uint32_t> minima);

// The same function for each vector width, the widest last, for tests.
using MinimaKernel = void (*)(const Functions&, std::span<const std::uint32_t>, std::span<std::uint32_t>);
std::vector<MinimaKernel> kernels_of_this_processor();

}  // namespace kw::near
