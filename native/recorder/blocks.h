// The allocator of the heap's address range: bookkeeping only, without device calls. Not thread-safe.
//
// The stream that freed a block may reuse it at once, since its later work runs afterwards. Other streams may
// reuse it only after the host has waited for the device (synchronised()). A block that record_stream() named
// is not reused at all until then. A block of a pool (of a CUDA graph) stays with the pool until its release.
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
  std::uint64_t bytes = 0;  // as requested
};

class Blocks {
 public:
  static constexpr std::uint64_t alignment = 512;
  static constexpr std::uint64_t slack = 512;  // least unused bytes after each block

  // The bytes that a block of this size occupies.
  static std::uint64_t extent(std::uint64_t bytes);

  // Adds memory. It is merged with free memory directly before it.
  void add(std::uint64_t address, std::uint64_t bytes);

  // Returns the address of the best fit; 0 if nothing fits.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t stream, PoolId pool = general_pool);

  // False if no block begins there.
  bool free(std::uint64_t address);

  // Notes that another stream uses the block: it is not reused before synchronised().
  void used_by(std::uint64_t address, std::uint64_t stream);

  // Notes that the host has waited for the device: free memory becomes free for every stream.
  void synchronised();

  void begin_pool(PoolId pool);
  // The last release frees the pool's memory; it is reused after synchronised().
  void release_pool(PoolId pool);

  // Free bytes for every stream at the end of the memory added last.
  std::uint64_t free_at_end() const;

  // The block that contains an address; bytes 0 if there is none.
  Allocation containing(std::uint64_t address) const;
  std::vector<Allocation> allocations() const;  // by address
  std::vector<Allocation> pools() const;        // whole pieces of pools, used or not

  std::uint64_t allocated_bytes() const { return allocated_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint64_t count() const { return count_; }  // of allocations so far
  void reset_peak() { peak_bytes_ = allocated_bytes_; }

 private:
  enum class State : std::uint8_t { free, used, waiting };
  // The owner of a free piece: a pool and a stream, or any stream.
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
  std::map<PoolId, int> pools_;  // number of begin_pool() calls not yet released
  std::uint64_t allocated_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace kw::recorder
