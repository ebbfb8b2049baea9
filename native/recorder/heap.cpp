#include "heap.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace kw::recorder {
namespace {

constexpr std::uint64_t chunk_bytes = std::uint64_t{32} << 20;

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  return wanted;
}

// Uses the current context, or else the device's primary one, which PyTorch uses too.
bool need_context(int& device) {
  const driver::Driver& cuda = machine().driver;
  CUcontext context = nullptr;
  if (cuda.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr)
    return succeeded(cuda.cuCtxGetDevice(&device), "cuCtxGetDevice");
  return succeeded(cuda.cuInit(0), "cuInit") && succeeded(cuda.cuDeviceGet(&device, 0), "cuDeviceGet") &&
         succeeded(cuda.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain") &&
         succeeded(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

std::uint64_t key(CUstream stream) {
  return reinterpret_cast<std::uint64_t>(stream);
}

}  // namespace

bool Heap::reserve() {
  if (reserved_) return true;
  if (!need_driver() || !need_context(device_)) return false;
  const driver::Driver& cuda = machine().driver;
  CUmemAllocationProp wanted = on_device(device_);
  std::size_t granularity = 0;
  if (!succeeded(
          cuda.cuMemGetAllocationGranularity(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
          "cuMemGetAllocationGranularity"))
    return false;
  CUdeviceptr range = 0;
  if (!succeeded(cuda.cuMemAddressReserve(&range, driver::heap_bytes, 0, driver::heap_address, 0),
                 "cuMemAddressReserve"))
    return false;
  if (range != driver::heap_address) {
    cuda.cuMemAddressFree(range, driver::heap_bytes);
    set_error("the driver did not reserve the recorder's range of addresses where it was asked to");
    return false;
  }
  granularity_ = granularity;
  return reserved_ = true;
}

// New memory of a device is zero, which hides the use of memory that nobody has initialised. No kernel uses
// it yet, so a stream of the recorder's own is enough. A captured graph must not contain the fill.
void Heap::fill_new(std::uint64_t address, std::uint64_t bytes) {
  constexpr unsigned values[] = {0xFFFFFFFF, 0x3F9E3F9E};  // NaN or -1, and numbers near 1.2
  const driver::Driver& cuda = machine().driver;
  if (!filters_.empty()) return;
  if (filling_ == nullptr && cuda.cuStreamCreate(&filling_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return;
  const unsigned value = values[fills_++ % std::size(values)];
  if (cuda.cuMemsetD32Async(address, value, bytes / sizeof value, filling_) == CUDA_SUCCESS)
    cuda.cuStreamSynchronize(filling_);
}

// Maps memory at the next addresses, so that a free piece of this extent is at the end.
bool Heap::grow(std::uint64_t extent) {
  const driver::Driver& cuda = machine().driver;
  std::uint64_t missing = extent - std::min(extent, blocks_.free_at_end());
  std::uint64_t bytes = std::max(missing, chunk_bytes);
  if (bytes > driver::heap_bytes - granularity_) return false;
  bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
  if (bytes > driver::heap_bytes - committed_bytes_) return false;
  const CUdeviceptr address = driver::heap_address + committed_bytes_;
  CUmemAllocationProp wanted = on_device(device_);
  CUmemGenericAllocationHandle memory = 0;
  if (!succeeded(cuda.cuMemCreate(&memory, bytes, &wanted, 0), "cuMemCreate")) return false;
  bool mapped = succeeded(cuda.cuMemMap(address, bytes, 0, memory, 0), "cuMemMap");
  cuda.cuMemRelease(memory);  // the mapping keeps the memory
  if (!mapped) return false;
  CUmemAccessDesc access{};
  access.location = wanted.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (!succeeded(cuda.cuMemSetAccess(address, bytes, &access, 1), "cuMemSetAccess")) {
    cuda.cuMemUnmap(address, bytes);
    return false;
  }
  fill_new(address, bytes);
  committed_bytes_ += bytes;
  blocks_.add(address, bytes);
  return true;
}

PoolId Heap::pool_of(CUstream stream) const {
  for (const Filter& filter : filters_)
    if (!filter.wanted || filter.wanted(stream)) return filter.pool;
  return general_pool;
}

std::uint64_t Heap::allocate(std::uint64_t bytes, CUstream stream) {
  Quiet quiet;
  std::uint64_t address = 0;
  {
    std::lock_guard lock(mutex_);
    if (bytes > driver::heap_bytes || !reserve()) return 0;
    const PoolId pool = pool_of(stream);
    auto attempt = [&] { return blocks_.allocate(bytes, key(stream), pool); };
    address = attempt();
    if (address == 0 && grow(Blocks::extent(bytes))) address = attempt();
    // The last resort is to wait for the device, which is forbidden while a graph is captured.
    if (address == 0 && filters_.empty() && machine().driver.cuCtxSynchronize() == CUDA_SUCCESS) {
      blocks_.synchronised();
      address = attempt();
      if (address == 0 && grow(Blocks::extent(bytes))) address = attempt();
    }
  }
  if (address == 0) {
    set_error("out of memory: " + std::to_string(bytes) + " bytes were asked for, " +
              std::to_string(committed_bytes()) + " are the heap's");
    return 0;
  }
  if (auto* told = on_allocate.load()) told({address, bytes});
  return address;
}

void Heap::free(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  blocks_.free(address);
}

void Heap::used_by(std::uint64_t address, CUstream stream) {
  std::lock_guard lock(mutex_);
  blocks_.used_by(blocks_.containing(address).address, key(stream));
}

void Heap::synchronised() {
  std::lock_guard lock(mutex_);
  blocks_.synchronised();
}

void Heap::begin_pool(PoolId pool, std::function<bool(CUstream)> filter) {
  std::lock_guard lock(mutex_);
  blocks_.begin_pool(pool);
  filters_.push_back({pool, std::move(filter)});
}

void Heap::end_pool(PoolId pool) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(filters_, pool, &Filter::pool);
  if (found != filters_.end()) filters_.erase(found);
}

void Heap::release_pool(PoolId pool) {
  std::lock_guard lock(mutex_);
  blocks_.release_pool(pool);
}

Allocation Heap::containing(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  return blocks_.containing(address);
}

std::vector<Allocation> Heap::allocations() const {
  std::lock_guard lock(mutex_);
  return blocks_.allocations();
}

std::vector<Allocation> Heap::pools() const {
  std::lock_guard lock(mutex_);
  return blocks_.pools();
}

std::uint64_t Heap::committed_bytes() const {
  std::lock_guard lock(mutex_);
  return committed_bytes_;
}

Heap::Use Heap::use() const {
  std::lock_guard lock(mutex_);
  return {blocks_.allocated_bytes(), blocks_.peak_bytes(), committed_bytes_, blocks_.count()};
}

void Heap::reset_peak() {
  std::lock_guard lock(mutex_);
  blocks_.reset_peak();
}

Heap& heap() {
  static auto* one = new Heap;  // never destroyed: PyTorch still calls while the process ends
  return *one;
}

}  // namespace kw::recorder
