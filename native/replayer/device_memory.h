// Addresses of the device, the memory behind them, and their release.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/core/files.h"
#include "fault.h"

namespace kw::replayer {

// Runs an action once, at the latest on destruction.
class Release {
 public:
  Release() = default;
  explicit Release(std::function<void()> action) : action_(std::move(action)) {}
  Release(Release&& other) noexcept : action_(std::exchange(other.action_, nullptr)) {}
  Release& operator=(Release&& other) noexcept {
    if (this != &other) {
      now();
      action_ = std::exchange(other.action_, nullptr);
    }
    return *this;
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  ~Release() { now(); }

  void now() {
    if (auto action = std::exchange(action_, nullptr)) action();
  }

 private:
  std::function<void()> action_;
};

// Addresses of the device, and the memory behind them.
struct Extent {
  CUdeviceptr address = 0;
  std::uint64_t bytes = 0;

  CUdeviceptr end() const { return address + bytes; }
  bool operator==(const Extent&) const = default;
};

// Sorts the extents, and merges those that touch or overlap.
std::vector<Extent> merged(std::vector<Extent> extents);

// The parts of `wanted` outside `present`; both as merged() returns them.
std::vector<Extent> without(std::span<const Extent> wanted, std::span<const Extent> present);

// Extends it to whole pages. False if the end overflows.
bool widen(Extent& extent, std::uint64_t page_bytes);

// A reserved range of addresses.
class Reserved {
 public:
  Reserved() = default;
  // At this address; 0: the driver chooses. Another address than the wanted one is a fault.
  static Outcome<Reserved> make(const driver::Driver& driver, Extent wanted);

  Extent extent() const { return extent_; }

 private:
  Extent extent_;
  Release release_;
};

// Memory of the device: new, or imported from the process that exported it.
class Memory {
 public:
  Memory() = default;
  static Outcome<Memory> make(const driver::Driver& driver, int device, std::uint64_t bytes);
  static Outcome<Memory> imported(const driver::Driver& driver, const Fd& exported);

  CUmemGenericAllocationHandle handle() const { return handle_; }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
  Release release_;
};

enum class Access { read, write };

// Memory mapped at an address for its lifetime: readable, and writable if requested.
class Mapped {
 public:
  Mapped() = default;
  static Outcome<Mapped> make(const driver::Driver& driver, int device, Extent at, const Memory& memory,
                              Access allowed = Access::write);

  Extent extent() const { return extent_; }

 private:
  Extent extent_;
  Release release_;
};

// Page-locked memory of the host.
class Pinned {
 public:
  Pinned() = default;
  static Outcome<Pinned> make(const driver::Driver& driver, std::size_t bytes);

  std::span<char> bytes() const { return bytes_; }

 private:
  std::span<char> bytes_;
  Release release_;
};

}  // namespace kw::replayer
