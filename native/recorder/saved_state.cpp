#include "saved_state.h"

#include "machine.h"

namespace kw::recorder {
namespace {

CUmemAllocationProp exportable(int device) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  return wanted;
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

bool SavedState::copy_all(CUdeviceptr to) {
  const driver::Driver& cuda = machine().driver;
  for (const Saved& saved : blocks_)
    if (!succeeded(cuda.cuMemcpyDtoDAsync(to + saved.at, saved.block.address, saved.block.bytes, nullptr),
                   "cuMemcpyDtoDAsync"))
      return false;
  return succeeded(cuda.cuCtxSynchronize(), "cuCtxSynchronize");
}

bool SavedState::save(const std::vector<Allocation>& blocks) {
  drop();
  std::uint64_t total = 0;
  for (const Allocation& block : blocks) {
    blocks_.push_back({block, total});
    total += rounded(block.bytes, Blocks::alignment);
  }
  if (total == 0) return true;

  const driver::Driver& cuda = machine().driver;
  CUdevice device = 0;
  std::size_t granularity = 0;
  if (!succeeded(cuda.cuCtxGetDevice(&device), "cuCtxGetDevice")) return false;
  CUmemAllocationProp wanted = exportable(device);
  if (!succeeded(
          cuda.cuMemGetAllocationGranularity(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
          "cuMemGetAllocationGranularity"))
    return false;
  total = rounded(total, granularity);
  if (!succeeded(cuda.cuMemCreate(&memory_, total, &wanted, 0), "cuMemCreate for the state")) return false;
  bytes_ = total;

  CUdeviceptr place = 0;
  CUmemAccessDesc access{};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  bool reserved = succeeded(cuda.cuMemAddressReserve(&place, total, 0, 0, 0), "cuMemAddressReserve");
  bool mapped = reserved && succeeded(cuda.cuMemMap(place, total, 0, memory_, 0), "cuMemMap");
  bool copied =
      mapped && succeeded(cuda.cuMemSetAccess(place, total, &access, 1), "cuMemSetAccess") && copy_all(place);
  if (mapped) cuda.cuMemUnmap(place, total);
  if (reserved) cuda.cuMemAddressFree(place, total);
  if (!copied) drop();
  return copied;
}

int SavedState::exported() const {
  if (bytes_ == 0) return -1;
  int fd = -1;
  CUresult result = machine().driver.cuMemExportToShareableHandle(
      &fd, memory_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  return succeeded(result, "cuMemExportToShareableHandle") ? fd : -1;
}

void SavedState::drop() {
  if (bytes_ > 0) machine().driver.cuMemRelease(memory_);
  bytes_ = 0;
  memory_ = 0;
  blocks_.clear();
}

}  // namespace kw::recorder
