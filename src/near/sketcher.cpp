#include <algorithm>

#include "near/minima.h"
#include "near/near.h"
#include "near/shingles.h"

namespace kw::near {
namespace {

// SplitMix64: the functions follow from the seed alone.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint32_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::uint32_t>(x >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Sketcher::Sketcher(const Parameters& parameters) : parameters_(parameters) {
  std::size_t functions = std::size_t{parameters.bands} * parameters.rows;
  std::size_t padded = (functions + lanes_together - 1) / lanes_together * lanes_together;
  Numbers numbers(parameters.seed);
  for (std::size_t i = 0; i < padded; ++i) {
    factors_.push_back(numbers.next() | 1);
    addends_.push_back(numbers.next());
  }
  minima_.resize(padded);
}

void Sketcher::sketch(std::string_view text, std::span<std::uint32_t> out) {
  std::ranges::fill(minima_, ~std::uint32_t{0});
  Shingles shingles(text, parameters_);
  for (auto block = shingles.next(); !block.empty(); block = shingles.next()) {
    shingles_.resize(block.size());
    std::ranges::transform(block, shingles_.begin(),
                           [](std::uint64_t hash) { return static_cast<std::uint32_t>(hash); });
    take_minima({factors_, addends_}, shingles_, minima_);
  }
  std::copy_n(minima_.begin(), out.size(), out.begin());
}

}  // namespace kw::near
