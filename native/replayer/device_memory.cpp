#include "device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace kw::replayer {
namespace {

CUmemAllocationProp properties(int device) {
  CUmemAllocationProp result{};
  result.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  result.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  result.location.id = device;
  return result;
}

}  // namespace

std::vector<Extent> merged(std::vector<Extent> extents) {
  std::erase_if(extents, [](const Extent& each) { return each.bytes == 0; });
  std::ranges::sort(extents, {}, &Extent::address);
  std::vector<Extent> result;
  for (const Extent& each : extents) {
    if (result.empty() || each.address > result.back().end())
      result.push_back(each);
    else
      result.back().bytes = std::max(result.back().end(), each.end()) - result.back().address;
  }
  return result;
}

std::vector<Extent> without(std::span<const Extent> wanted, std::span<const Extent> present) {
  std::vector<Extent> result;
  for (const Extent& each : wanted) {
    CUdeviceptr from = each.address;
    for (const Extent& there : present) {
      if (there.end() <= from || there.address >= each.end()) continue;
      if (there.address > from) result.push_back({from, there.address - from});
      from = std::min(there.end(), each.end());
    }
    if (from < each.end()) result.push_back({from, each.end() - from});
  }
  return result;
}

bool widen(Extent& extent, std::uint64_t page_bytes) {
  constexpr auto most = std::numeric_limits<CUdeviceptr>::max();
  if (extent.bytes > most - extent.address || extent.end() > most - page_bytes) return false;
  CUdeviceptr end = (extent.end() + page_bytes - 1) / page_bytes * page_bytes;
  extent.address = extent.address / page_bytes * page_bytes;
  extent.bytes = end - extent.address;
  return true;
}

Outcome<Reserved> Reserved::make(const driver::Driver& driver, Extent wanted) {
  CUdeviceptr address = 0;
  auto done = checked(driver, driver.cuMemAddressReserve(&address, wanted.bytes, 0, wanted.address, 0),
                      "reserving addresses");
  if (!done) return infrastructure(done.error().error);
  Reserved result;
  result.extent_ = {address, wanted.bytes};
  result.release_ =
      Release([&driver, address, bytes = wanted.bytes] { driver.cuMemAddressFree(address, bytes); });
  if (wanted.address != 0 && address != wanted.address)
    return infrastructure(
        fmt::format("the driver gave {:#x} for the addresses at {:#x}", address, wanted.address));
  return result;
}

Outcome<Memory> Memory::make(const driver::Driver& driver, int device, std::uint64_t bytes) {
  Memory result;
  CUmemAllocationProp wanted = properties(device);
  auto done = checked(driver, driver.cuMemCreate(&result.handle_, bytes, &wanted, 0),
                      fmt::format("allocating {} bytes", bytes));
  if (!done) return std::unexpected(done.error());
  result.release_ = Release([&driver, handle = result.handle_] { driver.cuMemRelease(handle); });
  return result;
}

Outcome<Memory> Memory::imported(const driver::Driver& driver, const Fd& exported) {
  Memory result;
  auto* descriptor = std::bit_cast<void*>(static_cast<std::uintptr_t>(exported.get()));
  auto done = checked(driver,
                      driver.cuMemImportFromShareableHandle(&result.handle_, descriptor,
                                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                      "importing device memory");
  if (!done) return infrastructure(done.error().error);
  result.release_ = Release([&driver, handle = result.handle_] { driver.cuMemRelease(handle); });
  return result;
}

Outcome<Mapped> Mapped::make(const driver::Driver& driver, int device, Extent at, const Memory& memory,
                             Access allowed) {
  auto done = checked(driver, driver.cuMemMap(at.address, at.bytes, 0, memory.handle(), 0), "mapping memory");
  if (!done) return std::unexpected(done.error());
  Mapped result;
  result.extent_ = at;
  result.release_ = Release([&driver, at] { driver.cuMemUnmap(at.address, at.bytes); });
  CUmemAccessDesc access{};
  access.location = properties(device).location;
  access.flags = allowed == Access::read ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  done = checked(driver, driver.cuMemSetAccess(at.address, at.bytes, &access, 1), "opening mapped memory");
  if (!done) return std::unexpected(done.error());
  return result;
}

Outcome<Pinned> Pinned::make(const driver::Driver& driver, std::size_t bytes) {
  Pinned result;
  if (bytes == 0) return result;
  void* address = nullptr;
  unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  auto done = checked(driver, driver.cuMemHostAlloc(&address, bytes, flags), "page-locking memory");
  if (!done) return infrastructure(done.error().error);
  result.bytes_ = {static_cast<char*>(address), bytes};
  result.release_ = Release([&driver, address] { driver.cuMemFreeHost(address); });
  return result;
}

}  // namespace kw::replayer
