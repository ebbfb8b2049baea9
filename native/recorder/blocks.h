// Who may have which piece of the heap: bookkeeping alone, no device call in it. Not thread-safe.
//
// A freed block may be given at once to the stream that freed it, since work there comes after. Other streams
// may have it only after the host has waited for the device (synchronised()). What record_stream() named is
// kept from everybody until then. What was allocated for a pool (a CUDA graph's) stays with the pool until it
// is released.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace kw::recorder {

using PoolId = std::pair<unsigned long long, unsigned long long>;
inline constexpr PoolId general_pool{0, 0};

struct Allocation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // as asked for
};

class Blocks {
 public:
  static constexpr std::uint64_t alignment = 512;
  static constexpr std::uint64_t slack = 512;  // at least so much behind each block belongs to nobody

  // What a block of so many bytes takes up.
  static std::uint64_t extent(std::uint64_t bytes);

  // New memory. Where it follows what is there already the two become one.
  void add(std::uint64_t address, std::uint64_t bytes);

  // The best fit, 0 where nothing fits.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t stream, PoolId pool = general_pool);

  // False where no block begins there.
  bool free(std::uint64_t address);

  // Another stream uses the block: it is not given again before synchronised().
  void used_by(std::uint64_t address, std::uint64_t stream);

  // The host has waited for the device: what is free is free for every stream.
  void synchronised();

  void begin_pool(PoolId pool);
  // The last release lets the pool's memory go, usable once synchronised() was called.
  void release_pool(PoolId pool);

  // Free bytes, good for every stream, at the end of the last memory added.
  std::uint64_t free_at_end() const;

  // The block in which an address lies; bytes 0 where there is none.
  Allocation containing(std::uint64_t address) const;
  std::vector<Allocation> allocations() const;  // by address

  std::uint64_t allocated_bytes() const { return allocated_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint64_t count() const { return count_; }  // of allocations, so far
  void reset_peak() { peak_bytes_ = allocated_bytes_; }

 private:
  enum class State : std::uint8_t { free, used, waiting };
  // Whom a free piece is for: a pool and a stream, or any stream.
  struct Owner {
    PoolId pool = general_pool;
    bool anyone = true;
    std::uint64_t stream = 0;
    auto operator<=>(const Owner&) const = default;
  };
  struct Piece {
    std::uint64_t extent = 0;
    std::uint64_t bytes = 0;
    State state = State::free;
    bool shared = false;  // used by another stream as well
    Owner owner;
  };
  using Pieces = std::map<std::uint64_t, Piece>;
  using Sizes = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // extent, address

  static bool alike(const Piece& a, const Piece& b);
  void enlist(Pieces::iterator piece);
  void delist(Pieces::iterator piece);
  void merge(Pieces::iterator piece);
  std::uint64_t best(const Owner& owner, std::uint64_t extent) const;
  std::uint64_t take(std::uint64_t address, std::uint64_t bytes, const Owner& owner);

  Pieces pieces_;
  std::map<Owner, Sizes> free_;
  std::map<PoolId, int> pools_;  // how often begun
  std::uint64_t allocated_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace kw::recorder
