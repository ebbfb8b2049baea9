// Addresses of the device, and the memory behind them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"
#include "fault.h"
#include "release.h"

namespace kw::replayer {

struct Extent {
  CUdeviceptr address = 0;
  std::uint64_t bytes = 0;

  CUdeviceptr end() const { return address + bytes; }
  bool operator==(const Extent&) const = default;
};

// Sorted, and what touches or overlaps made one.
std::vector<Extent> merged(std::vector<Extent> extents);

// What of `wanted` is not in `present`; both as merged() gives them.
std::vector<Extent> without(std::span<const Extent> wanted, std::span<const Extent> present);

// Whole pages around it. False where the end is beyond all addresses.
bool widen(Extent& extent, std::uint64_t page_bytes);

// A range of addresses that nothing else takes.
class Reserved {
 public:
  Reserved() = default;
  // At this address, or wherever the driver likes where it is 0. Another place than the wanted one is a
  // fault.
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

// Memory that can be read, and written where that was asked for, at an address until this goes.
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
