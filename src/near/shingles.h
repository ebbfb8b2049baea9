// A text's tokens and shingles as 64-bit hashes, in one pass and in blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "near/near.h"

namespace kw::near {

// Splits as Parameters say. Integer arithmetic only: the same on every machine of one byte order.
class TokenHashes {
 public:
  TokenHashes(std::string_view text, bool words_only)
      : at_(text.data()), end_(text.data() + text.size()), words_only_(words_only) {}

  // How many places more than is asked for next() wants at least.
  static constexpr std::size_t slack = 64;

  // Fills `out` from its start, and leaves less than `slack` of it free before the text's end; 0 at its end.
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

  // The next hashes, in the order of the text; none at its end.
  std::span<const std::uint64_t> next();

 private:
  void roll(std::size_t end);

  TokenHashes source_;
  std::size_t width_;
  std::uint64_t leaving_;  // the base to the power of width_: what a token weighs when it leaves the window
  std::uint64_t rolling_ = 0;
  bool begun_ = false;
  std::vector<std::uint64_t> tokens_;  // width_ tokens of the block before, then this block's
  std::vector<std::uint64_t> hashes_;
};

}  // namespace kw::near
