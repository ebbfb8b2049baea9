#include "device.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

namespace kw::replayer {

Outcome<Gate> Gate::make(const driver::Driver& driver) {
  Gate gate(driver);
  auto word = Pinned::make(driver, sizeof(std::uint32_t));
  if (!word) return std::unexpected(word.error());
  gate.word_ = std::move(*word);
  auto found = checked(driver, driver.cuMemHostGetDevicePointer(&gate.address_, gate.word_.bytes().data(), 0),
                       "finding the gate's address");
  if (!found) return infrastructure(found.error().error);
  gate.write(0);
  return gate;
}

void Gate::write(std::uint32_t value) {
  // A kernel may have written here, but only the stream reads the word.
  auto* word = reinterpret_cast<std::uint32_t*>(word_.bytes().data());
  std::atomic_ref(*word).store(value, std::memory_order_seq_cst);
}

CUresult Gate::close(CUstream stream) {
  write(ticket_);
  CUresult result = driver_->cuStreamWaitValue32(stream, address_, ticket_ + 1, CU_STREAM_WAIT_VALUE_EQ);
  if (result != CUDA_SUCCESS) return result;
  ++ticket_;
  closed_ = true;
  return CUDA_SUCCESS;
}

void Gate::open() {
  if (closed_) write(ticket_);
  closed_ = false;
}

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
    // The mapping keeps the memory, so the handle is released.
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

Outcome<Clock> Clock::make(Device& device) {
  auto marks = Marks::make(device.driver());
  if (!marks) return std::unexpected(marks.error());
  Clock clock(device, std::move(*marks));
  auto made = device.checked(device.driver().cuEventCreate(&clock.joint_, CU_EVENT_DISABLE_TIMING),
                             "making an event");
  if (!made) return infrastructure(made.error().error);
  return clock;
}

Clock::Clock(Clock&& other) noexcept
    : device_(other.device_),
      marks_(std::move(other.marks_)),
      events_(std::move(other.events_)),
      joint_(std::exchange(other.joint_, nullptr)),
      floor_ms_(other.floor_ms_),
      host_floor_ms_(other.host_floor_ms_),
      marked_floor_ms_(other.marked_floor_ms_),
      found_at_work_(other.found_at_work_) {}

Clock::~Clock() {
  for (CUevent each : events_) device_.driver().cuEventDestroy(each);
  if (joint_ != nullptr) device_.driver().cuEventDestroy(joint_);
}

Outcome<CUevent> Clock::event(std::size_t index) {
  while (events_.size() <= index) {
    CUevent event = nullptr;
    auto made = device_.checked(device_.driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event");
    if (!made) return infrastructure(made.error().error);
    events_.push_back(event);
  }
  return events_[index];
}

Outcome<double> Clock::between_ms(CUevent begin, CUevent end) const {
  float ms = 0;
  auto read =
      device_.checked(device_.driver().cuEventElapsedTime(&ms, begin, end), "reading the device's clock");
  if (!read) return std::unexpected(read.error());
  return std::max(0.0, static_cast<double>(ms) - floor_ms_);
}

Outcome<> Clock::find_floor_at_work(CUstream stream) {
  return std::exchange(found_at_work_, true) ? Outcome<>{} : find_floor(stream);
}

namespace {

double mean_of_middle_half(std::vector<double> values) {
  std::ranges::sort(values);
  const auto out = static_cast<std::ptrdiff_t>(values.size() / 4);
  return std::reduce(values.begin() + out, values.end() - out) /
         static_cast<double>(static_cast<std::ptrdiff_t>(values.size()) - 2 * out);
}

}  // namespace

Outcome<> Clock::find_floor(CUstream stream) {
  constexpr std::size_t tries = 64;  // one alone reads in steps of the device's clock
  const driver::Driver& driver = device_.driver();
  auto begin = event(0);
  auto end = event(1);
  if (!begin || !end) return infrastructure("no events can be made");
  const double before_ms = std::exchange(floor_ms_, 0);
  std::vector<double> found;
  std::vector<double> found_by_host;
  std::vector<double> found_by_marks;
  for (std::size_t i = 0; i < tries; ++i) {
    auto done =
        in_turn([&] { return device_.checked(device_.gate().close(stream), "closing the gate"); },
                [&] { return device_.checked(marks_.begin(stream), "marking nothing"); },
                [&] { return device_.checked(driver.cuEventRecord(*begin, stream), "timing nothing"); },
                [&] { return device_.checked(driver.cuEventRecord(*end, stream), "timing nothing"); },
                [&] { return device_.checked(marks_.end(stream), "marking nothing"); });
    const auto opened = SteadyClock::now();
    device_.gate().open();
    const auto marked_ms = done ? marks_.watch(stream, longest_watch) : std::nullopt;
    if (done) done = device_.checked(driver.cuStreamSynchronize(stream), "timing nothing");
    found_by_host.push_back(ms_since(opened));
    auto ms = done ? between_ms(*begin, *end) : std::unexpected(done.error());
    if (!ms) return infrastructure(ms.error().error);
    found.push_back(*ms);
    if (marked_ms) found_by_marks.push_back(*marked_ms);
  }
  floor_ms_ = mean_of_middle_half(std::move(found));
  if (before_ms > 0) floor_ms_ = std::min(floor_ms_, before_ms);
  // Other processes on the device delay some of the tries.
  const double host_ms = std::ranges::min(found_by_host);
  host_floor_ms_ = host_floor_ms_ > 0 ? std::min(host_floor_ms_, host_ms) : host_ms;
  // Foreign code has run by the second time, and other attempts share this floor.
  if (before_ms > 0 || found_by_marks.size() < tries / 4) return {};
  // Other processes delay most of the tries, and once in some hundred of them the first mark comes late.
  const auto low = found_by_marks.begin() + static_cast<std::ptrdiff_t>(found_by_marks.size() / 16);
  std::ranges::nth_element(found_by_marks, low);
  marked_floor_ms_ = *low;
  return {};
}

}  // namespace kw::replayer
