#include "device.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw::replayer {

Outcome<std::unique_ptr<Device>> Device::open(const driver::Driver& driver, int ordinal) {
  std::unique_ptr<Device> device(new Device(driver, ordinal));
  if (auto ready = device->prepare(); !ready) return infrastructure(ready.error().error);
  return device;
}

Device::~Device() {
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

Outcome<> Device::prepare() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  int l2_bytes = 0;
  int major = 0;
  int minor = 0;
  std::size_t page_bytes = 0;
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  property.location.id = ordinal_;
  auto ask = [&](CUdevice_attribute which, int& value) {
    return checked(driver_.cuDeviceGetAttribute(&value, which, device), "asking for an attribute");
  };
  auto made = in_turn(
      [&] { return checked(driver_.cuInit(0), "cuInit"); },
      [&] { return checked(driver_.cuDeviceGet(&device, ordinal_), "finding the device"); },
      [&] { return checked(driver_.cuDevicePrimaryCtxRetain(&context, device), "making a context"); },
      [&] { return checked(driver_.cuCtxSetCurrent(context), "entering the context"); },
      [&] { return ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, l2_bytes); },
      [&] { return ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major); },
      [&] { return ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor); },
      [&] {
        return checked(
            driver_.cuMemGetAllocationGranularity(&page_bytes, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            "asking for the granularity");
      },
      [&] { return checked(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a stream"); });
  if (!made) return made;
  if (page_bytes == 0) return infrastructure("the driver knows no granularity");
  page_bytes_ = page_bytes;
  compute_capability_ = static_cast<unsigned>(major * 10 + minor);
  l2_bytes_ = static_cast<std::uint64_t>(std::max(l2_bytes, 0));
  auto heap = Reserved::make(driver_, {driver::heap_address, driver::heap_bytes});
  if (!heap) return std::unexpected(heap.error());
  heap_ = std::move(*heap);
  auto gate = Gate::make(driver_);
  if (!gate) return std::unexpected(gate.error());
  gate_ = std::make_unique<Gate>(std::move(*gate));
  return {};
}

Outcome<> Device::fits(std::uint64_t bytes) const {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  if (auto asked = checked(driver_.cuMemGetInfo(&free_bytes, &total_bytes), "asking for free memory"); !asked)
    return asked;
  if (bytes > free_bytes)
    return unsupported(
        fmt::format("it does not fit: {} bytes are needed and {} are free", bytes, free_bytes));
  return {};
}

Outcome<> Device::commit(std::vector<Extent> spans) {
  for (Extent& each : spans)
    if (!widen(each, page_bytes_) || each.address < heap().address || each.end() > heap().end())
      return unsupported("memory of the recording lies outside the recorder's range");
  auto missing = without(merged(std::move(spans)), committed_);
  std::uint64_t bytes = 0;
  for (const Extent& each : missing) bytes += each.bytes;
  if (auto enough = fits(bytes); !enough) return enough;
  for (const Extent& each : missing) {
    auto memory = Memory::make(driver_, ordinal_, each.bytes);
    if (!memory) return unsupported("it does not fit: " + memory.error().error);
    // A mapping keeps its memory, so the handle need not live on.
    auto mapped = Mapped::make(driver_, ordinal_, each, *memory);
    if (!mapped) return std::unexpected(mapped.error());
    chunks_.push_back(std::move(*mapped));
    committed_.push_back(each);
    committed_ = merged(std::move(committed_));
  }
  return {};
}

void Device::give_heap_back() {
  chunks_.clear();
  committed_.clear();
}

}  // namespace kw::replayer
