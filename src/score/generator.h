// Random numbers that are the same on every machine and with every standard library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace kw::score {

// xoshiro256** 1.0 (Blackman and Vigna 2018), its state filled by SplitMix64 from the seed. Not for secrets.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);

  std::uint64_t next();

  // Each of 0 … count-1 equally often (numbers beyond the last whole multiple are drawn again); count > 0.
  std::uint64_t below(std::uint64_t count);

  // Fisher and Yates.
  template <typename Sequence>
  void shuffle(Sequence& sequence) {
    for (std::size_t left = sequence.size(); left > 1; --left)
      std::swap(sequence[left - 1], sequence[static_cast<std::size_t>(below(left))]);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace kw::score
