// The recorder's heap: one fixed range of device addresses, to which memory is mapped on demand.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "blocks.h"
#include "machine.h"

namespace kw::recorder {

class Heap {
 public:
  // Returns 0 if memory has run out or the range could not be reserved; error_text() has the reason.
  std::uint64_t allocate(std::uint64_t bytes, CUstream stream);
  void free(std::uint64_t address);
  void used_by(std::uint64_t address, CUstream stream);
  // Notes that the host has waited for the device.
  void synchronised();

  // Until end_pool, allocations for streams that pass the filter belong to the pool.
  void begin_pool(PoolId pool, std::function<bool(CUstream)> filter);
  void end_pool(PoolId pool);
  void release_pool(PoolId pool);

  Allocation containing(std::uint64_t address) const;
  std::vector<Allocation> allocations() const;
  // All memory of pools, free or not: a graph may use it again.
  std::vector<Allocation> pools() const;
  std::uint64_t committed_bytes() const;
  // `allocations` is their number so far.
  struct Use {
    std::uint64_t allocated_bytes, peak_bytes, committed_bytes, allocations;
  };
  Use use() const;
  void reset_peak();

  static bool holds(std::uint64_t address) {
    return address >= driver::heap_address && address - driver::heap_address < driver::heap_bytes;
  }

  // Called for every new block; may be null.
  std::atomic<void (*)(Allocation)> on_allocate{nullptr};

 private:
  struct Filter {
    PoolId pool;
    std::function<bool(CUstream)> wanted;
  };
  bool reserve();
  bool grow(std::uint64_t extent);
  void fill_new(std::uint64_t address, std::uint64_t bytes);
  PoolId pool_of(CUstream stream) const;

  mutable std::mutex mutex_;
  Blocks blocks_;
  std::vector<Filter> filters_;  // the pools that are open now
  bool reserved_ = false;
  int device_ = 0;
  std::uint64_t granularity_ = 0;
  std::uint64_t committed_bytes_ = 0;
  CUstream filling_ = nullptr;
  unsigned fills_ = 0;
};

Heap& heap();

}  // namespace kw::recorder
