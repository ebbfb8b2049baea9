#include "near/shingles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace kw::near {
namespace {

static_assert(std::endian::native == std::endian::little, "words are hashed as little-endian numbers");

constexpr std::size_t block_tokens = 1024;
constexpr std::size_t max_width = 1024;

enum Kind : std::uint8_t { other, word, space };

constexpr std::array<Kind, 256> kinds = [] {
  std::array<Kind, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || (c >= '0' && c <= '9') || c == '_' || c > 127) table[c] = word;
    if (c == ' ' || (c >= '\t' && c <= '\r')) table[c] = space;
  }
  return table;
}();

Kind kind_of(char c) {
  return kinds[static_cast<unsigned char>(c)];
}

// Odd constants with about half their bits set, from the digits of square roots.
constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;
constexpr std::uint64_t base = 0xbb67ae8584caa73b;
constexpr std::uint64_t finish = 0xa54ff53a5f1d36f1;

constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 32)) * spread;
  return x ^ (x >> 29);
}

// Not reversible by accident: neighbours of the window must not show in the minima.
constexpr std::uint64_t finished(std::uint64_t x) {
  x = (x ^ (x >> 31)) * finish;
  x = (x ^ (x >> 30)) * spread;
  return x ^ (x >> 32);
}

constexpr std::array<std::uint64_t, 256> single = [] {
  std::array<std::uint64_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) table[c] = mixed(c * base);
  return table;
}();

std::uint64_t up_to_eight(const char* at, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, size);
  return value;
}

// Words of at most eight bytes all have hashes of their own: each step can be reversed, and no word has a
// zero byte.
std::uint64_t word_hash(const char* at, std::size_t size, const char* end) {
  if (size <= 8 && end - at >= 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, 8);
    return mixed((value & (~std::uint64_t{0} >> (64 - 8 * size))) * base);
  }
  std::uint64_t hash = 0;
  for (; size > 8; at += 8, size -= 8) hash = mixed((hash ^ up_to_eight(at, 8)) * base);
  return mixed((hash ^ up_to_eight(at, size)) * base);
}

}  // namespace

std::size_t TokenHashes::next(std::span<std::uint64_t> out) {
  std::size_t count = 0;
  const char* at = at_;
  while (at < end_ && count < out.size()) {
    Kind kind = kind_of(*at);
    if (kind == word) {
      const char* begin = at;
      do ++at;
      while (at < end_ && kind_of(*at) == word);
      out[count++] = word_hash(begin, static_cast<std::size_t>(at - begin), end_);
      continue;
    }
    if (kind == other && !words_only_) out[count++] = single[static_cast<unsigned char>(*at)];
    ++at;
  }
  at_ = at;
  return count;
}

Shingles::Shingles(std::string_view text, const Parameters& parameters)
    : source_(text, parameters.words_only),
      width_(std::clamp<std::size_t>(parameters.shingle_tokens, 1, max_width)),
      leaving_(1),
      tokens_(width_ + std::min(block_tokens, text.size())) {
  for (std::size_t i = 0; i < width_; ++i) leaving_ *= base;
}

std::span<const std::uint64_t> Shingles::next() {
  std::size_t from = begun_ ? width_ : 0;
  std::size_t read = source_.next(std::span(tokens_).subspan(from));
  if (read == 0) return {};
  hashes_.clear();
  if (begun_) {
    roll(width_ + read);
    return hashes_;
  }
  begun_ = true;
  std::size_t first = std::min(read, width_);
  for (std::size_t i = 0; i < first; ++i) rolling_ = rolling_ * base + tokens_[i];
  // A text with fewer tokens than a shingle has is one shingle, and unlike any whole one.
  hashes_.push_back(finished(rolling_ + width_ - first));
  if (first == width_) roll(read);
  return hashes_;
}

// Moves the window over the tokens up to `end`, then the last width_ of them to the front.
void Shingles::roll(std::size_t end) {
  std::size_t have = hashes_.size();
  hashes_.resize(have + end - width_);
  std::uint64_t* out = hashes_.data() + have;
  for (std::size_t i = width_; i < end; ++i) {
    rolling_ = rolling_ * base + tokens_[i] - tokens_[i - width_] * leaving_;
    *out++ = finished(rolling_);
  }
  std::copy_n(tokens_.begin() + static_cast<std::ptrdiff_t>(end - width_), width_, tokens_.begin());
}

}  // namespace kw::near
