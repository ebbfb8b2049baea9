#include "code/similarity/sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "code/similarity/near.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace kw::near {
namespace {

static_assert(std::endian::native == std::endian::little, "words are hashed as little-endian numbers");

constexpr std::size_t block_tokens = 1024;
constexpr std::size_t max_width = 1024;

constexpr std::size_t piece_bytes = 64;

// A bit for each of 64 bytes: whether it belongs to a word, and whether it is white space.
struct Kinds {
  std::uint64_t word = 0;
  std::uint64_t space = 0;
};

#if defined(__SSE2__)
// Whether each unsigned byte is within a..b: one comparison after a move to the lowest signed values.
__m128i between(__m128i bytes, char a, char b) {
  __m128i moved = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(-128 - a)));
  return _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(-128 + b - a + 1)));
}

Kinds kinds_of(const char* piece) {
  Kinds kinds;
  for (unsigned i = 0; i < piece_bytes; i += 16) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(piece + i));
    __m128i letter = between(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 'z');
    __m128i other = _mm_or_si128(between(bytes, '0', '9'), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('_')));
    // Bytes over 127 have the top bit set.
    __m128i word = _mm_or_si128(_mm_or_si128(letter, other), bytes);
    __m128i space = _mm_or_si128(between(bytes, '\t', '\r'), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')));
    kinds.word |= std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(word))} << i;
    kinds.space |= std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(space))} << i;
  }
  return kinds;
}
#else
Kinds kinds_of(const char* piece) {
  Kinds kinds;
  for (unsigned i = 0; i < piece_bytes; ++i) {
    unsigned c = static_cast<unsigned char>(piece[i]);
    bool letter = (c | 0x20) - 'a' < 26;
    kinds.word |= std::uint64_t{letter || c - '0' < 10 || c == '_' || c > 127} << i;
    kinds.space |= std::uint64_t{c == ' ' || c - '\t' < 5} << i;
  }
  return kinds;
}
#endif

// Odd constants with about half of their bits set, from the digits of square roots.
constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;
constexpr std::uint64_t base = 0xbb67ae8584caa73b;
constexpr std::uint64_t finish = 0xa54ff53a5f1d36f1;

constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 32)) * spread;
  return x ^ (x >> 29);
}

// Mixes the rolling hash, whose consecutive values are related, so that the minima are independent of it.
constexpr std::uint64_t finished(std::uint64_t x) {
  x = (x ^ (x >> 31)) * finish;
  x = (x ^ (x >> 30)) * spread;
  return x ^ (x >> 32);
}

std::uint64_t eight(const char* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, 8);
  return value;
}

// The hash of 1 to 64 bytes, with eight more readable bytes after them. Different tokens of at most eight
// bytes have different hashes: each step is reversible, and only the token of the zero byte contains a zero
// byte.
std::uint64_t token_hash(const char* at, std::size_t size) {
  std::uint64_t hash = 0;
  for (; size > 8; at += 8, size -= 8) hash = mixed((hash ^ eight(at)) * base);
  return mixed((hash ^ (eight(at) & (~std::uint64_t{0} >> (64 - 8 * size)))) * base);
}

// The hash of any length, without readable bytes after it.
std::uint64_t long_token_hash(const char* at, std::size_t size) {
  std::uint64_t hash = 0;
  for (; size > 8; at += 8, size -= 8) hash = mixed((hash ^ eight(at)) * base);
  std::uint64_t rest = 0;
  std::memcpy(&rest, at, size);
  return mixed((hash ^ rest) * base);
}

bool is_word(char c) {
  std::array<char, piece_bytes> piece{};
  piece[0] = c;
  return (kinds_of(piece.data()).word & 1) != 0;
}

}  // namespace

std::size_t TokenHashes::next(std::span<std::uint64_t> out) {
  std::size_t count = 0;
  while (at_ < end_ && count + slack <= out.size()) {
    auto left = static_cast<std::size_t>(end_ - at_);
    if (left >= piece_bytes + 8) {
      count += step(at_, &out[count]);
      continue;
    }
    std::array<char, 2 * piece_bytes + 16> copy{};
    copy.fill(' ');
    std::memcpy(copy.data(), at_, left);
    count += step(copy.data(), &out[count]);
  }
  return count;
}

// Hashes the tokens of 64 bytes, which `piece` also contains; leaves a word that reaches their end to the
// next step.
std::size_t TokenHashes::step(const char* piece, std::uint64_t* out) {
  Kinds kinds = kinds_of(piece);
  if (kinds.word == ~std::uint64_t{0}) {
    const char* begin = at_;
    for (at_ = std::min(at_ + piece_bytes, end_); at_ < end_ && is_word(*at_);) ++at_;
    *out = long_token_hash(begin, static_cast<std::size_t>(at_ - begin));
    return 1;
  }
  auto open = static_cast<unsigned>(std::countl_one(kinds.word));
  if (open > 0) kinds.word &= ~std::uint64_t{0} >> open;
  std::uint64_t here = open > 0 ? ~std::uint64_t{0} >> open : ~std::uint64_t{0};
  std::uint64_t others = words_only_ ? 0 : here & ~kinds.word & ~kinds.space;
  std::uint64_t first = (kinds.word & ~(kinds.word << 1)) | others;
  std::uint64_t last = (kinds.word & ~(kinds.word >> 1)) | others;
  std::size_t count = 0;
  for (; first != 0; first &= first - 1, last &= last - 1) {
    auto begin = static_cast<unsigned>(std::countr_zero(first));
    auto end = static_cast<unsigned>(std::countr_zero(last)) + 1;
    out[count++] = token_hash(piece + begin, end - begin);
  }
  at_ += std::min<std::size_t>(piece_bytes - open, static_cast<std::size_t>(end_ - at_));
  return count;
}

Shingles::Shingles(std::string_view text, const Parameters& parameters)
    : source_(text, parameters.words_only),
      width_(std::clamp<std::size_t>(parameters.shingle_tokens, 1, max_width)),
      leaving_(1),
      tokens_(width_ + std::min(block_tokens, text.size()) + TokenHashes::slack) {
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
  // A text with fewer tokens than a shingle is one shingle, which differs from every full one.
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

namespace {

// `Count` vectors stay in registers during the loop over the numbers. Inlined into functions that are each
// compiled for one kind of processor.
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

namespace {

// SplitMix64: the hash functions depend on the seed only.
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

namespace {

void sort_once_each(std::vector<std::uint64_t>& hashes) {
  std::ranges::sort(hashes);
  auto repeated = std::ranges::unique(hashes);
  hashes.erase(repeated.begin(), repeated.end());
}

}  // namespace

std::vector<std::uint64_t> shingle_set(std::string_view text, const Parameters& parameters) {
  std::vector<std::uint64_t> set;
  // Removes duplicates between blocks, so that a long repetitive text takes little memory.
  std::size_t limit = std::size_t{1} << 20;
  Shingles shingles(text, parameters);
  for (auto block = shingles.next(); !block.empty(); block = shingles.next()) {
    set.insert(set.end(), block.begin(), block.end());
    if (set.size() < limit) continue;
    sort_once_each(set);
    limit = std::max(limit, 2 * set.size());
  }
  sort_once_each(set);
  return set;
}

double jaccard(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  if (a.empty() && b.empty()) return 1;
  std::size_t common = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  // Which element is less is unpredictable, so both steps avoid a branch.
  while (i < a.size() && j < b.size()) {
    std::uint64_t x = a[i];
    std::uint64_t y = b[j];
    common += x == y;
    i += x <= y;
    j += y <= x;
  }
  return static_cast<double>(common) / static_cast<double>(a.size() + b.size() - common);
}

}  // namespace kw::near
