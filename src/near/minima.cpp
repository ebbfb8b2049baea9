#include "near/minima.h"

#include <cstring>

namespace kw::near {
namespace {

// `Count` vectors stay in registers while the numbers pass. Inlined into functions that are compiled for one
// kind of processor each.
template <typename Vector, std::size_t Count>
[[gnu::always_inline]] inline void group(const std::uint32_t* factors, const std::uint32_t* addends,
                                         std::span<const std::uint32_t> numbers, std::uint32_t* minima) {
  Vector factor[Count];
  Vector addend[Count];
  Vector least[Count];
  std::memcpy(factor, factors, sizeof factor);
  std::memcpy(addend, addends, sizeof addend);
  std::memcpy(least, minima, sizeof least);
  for (std::uint32_t number : numbers) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Count; ++i) {
      Vector value = factor[i] * number + addend[i];
      least[i] = value < least[i] ? value : least[i];
    }
  }
  std::memcpy(minima, least, sizeof least);
}

template <typename Vector, std::size_t Count>
[[gnu::always_inline]] inline void all(const Functions& functions, std::span<const std::uint32_t> numbers,
                                       std::span<std::uint32_t> minima) {
  constexpr std::size_t step = Count * sizeof(Vector) / sizeof(std::uint32_t);
  static_assert(lanes_together % step == 0);
  for (std::size_t i = 0; i < minima.size(); i += step)
    group<Vector, Count>(&functions.factors[i], &functions.addends[i], numbers, &minima[i]);
}

using Words4 [[gnu::vector_size(16)]] = std::uint32_t;
using Words8 [[gnu::vector_size(32)]] = std::uint32_t;
using Words16 [[gnu::vector_size(64)]] = std::uint32_t;

void plain(const Functions& functions, std::span<const std::uint32_t> numbers,
           std::span<std::uint32_t> minima) {
  all<Words4, 4>(functions, numbers, minima);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void avx2(const Functions& functions, std::span<const std::uint32_t> numbers,
                                  std::span<std::uint32_t> minima) {
  all<Words8, 4>(functions, numbers, minima);
}

[[gnu::target("avx512f")]] void avx512(const Functions& functions, std::span<const std::uint32_t> numbers,
                                       std::span<std::uint32_t> minima) {
  all<Words16, 4>(functions, numbers, minima);
}
#endif

}  // namespace

std::vector<MinimaKernel> kernels_of_this_processor() {
  std::vector<MinimaKernel> kernels{plain};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) kernels.push_back(avx2);
  if (__builtin_cpu_supports("avx512f")) kernels.push_back(avx512);
#endif
  return kernels;
}

void take_minima(const Functions& functions, std::span<const std::uint32_t> numbers,
                 std::span<std::uint32_t> minima) {
  static const MinimaKernel best = kernels_of_this_processor().back();
  best(functions, numbers, minima);
}

}  // namespace kw::near
