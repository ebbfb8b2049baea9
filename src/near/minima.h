// The inner loop of a sketch: many hash functions of many numbers, and the least value of each function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kw::near {

// Function i is factors[i] * x + addends[i], modulo 2^32. All three spans have one size, a multiple of this.
inline constexpr std::size_t lanes_together = 64;

struct Functions {
  std::span<const std::uint32_t> factors;
  std::span<const std::uint32_t> addends;
};

// minima[i] becomes the least of itself and of function i over `numbers`. Uses the widest vectors that the
// processor has; the result does not depend on it.
void take_minima(const Functions& functions, std::span<const std::uint32_t> numbers,
                 std::span<std::uint32_t> minima);

// The same work for each width of vectors, the widest last: tests compare them.
using MinimaKernel = void (*)(const Functions&, std::span<const std::uint32_t>, std::span<std::uint32_t>);
std::vector<MinimaKernel> kernels_of_this_processor();

}  // namespace kw::near
