#include "score/generator.h"

#include <bit>

namespace kw::score {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Generator::Generator(std::uint64_t seed) : state_{} {
  for (std::uint64_t& part : state_) part = split_mix(seed);
}

std::uint64_t Generator::next() {
  std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Generator::below(std::uint64_t count) {
  // 2^64 modulo count: so many of the lowest numbers would make some results likelier.
  std::uint64_t biased = (0 - count) % count;
  std::uint64_t drawn = next();
  while (drawn < biased) drawn = next();
  return drawn % count;
}

}  // namespace kw::score
