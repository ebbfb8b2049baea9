#include "slot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace kw::replayer {
namespace {

std::span<const std::uint8_t> span_of(const flatbuffers::Vector<std::uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return {bytes->data(), bytes->size()};
}

}  // namespace

Outcome<HostCopies> HostCopies::make(const driver::Driver& driver, const recording::Recording& recording) {
  constexpr std::size_t alignment = 64;
  HostCopies result;
  std::size_t total = 0;
  std::size_t count = recording.operations() == nullptr ? 0 : recording.operations()->size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto* operation = recording.operations()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto* upload = operation->work_as_Upload();
    const auto* download = operation->work_as_Download();
    if (upload == nullptr && download == nullptr) continue;
    auto recorded = span_of(upload != nullptr ? upload->bytes() : download->bytes());
    result.copies_.emplace(i, Copy{recorded, total, upload != nullptr});
    result.downloads_ += download != nullptr ? 1 : 0;
    total += (recorded.size() + alignment - 1) / alignment * alignment;
  }
  auto memory = Pinned::make(driver, total);
  if (!memory)
    return unsupported("what it copies from and to the host does not fit: " + memory.error().error);
  result.memory_ = std::move(*memory);
  return result;
}

void HostCopies::refill() {
  for (auto& [operation, copy] : copies_) {
    if (copy.recorded.empty()) continue;
    std::span<char> place = of(operation);
    std::memcpy(place.data(), copy.recorded.data(), copy.recorded.size());
    // A missing download then differs from the recorded bytes.
    if (!copy.upload)
      for (char& each : place) each = static_cast<char>(~each);
  }
}

std::span<char> HostCopies::of(std::size_t operation) const {
  const Copy& copy = copies_.at(operation);
  return memory_.bytes().subspan(copy.at, copy.recorded.size());
}

bool HostCopies::downloads_equal() const {
  for (const auto& [operation, copy] : copies_)
    if (!copy.upload && !copy.recorded.empty() &&
        std::memcmp(memory_.bytes().data() + copy.at, copy.recorded.data(), copy.recorded.size()) != 0)
      return false;
  return true;
}

namespace {

std::vector<bool> awaited(const recording::Plan& plan) {
  std::vector<bool> result(plan.steps.size());
  for (const auto& step : plan.steps)
    for (std::size_t before : step.after) result[before] = true;
  return result;
}

std::vector<std::size_t> side_streams(const std::vector<Turn>& turns) {
  std::set<std::size_t> streams;
  for (const Turn& each : turns) streams.insert(each.stream);
  streams.erase(0);
  return {streams.begin(), streams.end()};
}

}  // namespace

Schedule schedule(const recording::Plan& plan, Wanted wanted, const std::set<std::size_t>& left_out) {
  Schedule result;
  const bool serial = wanted.order == wire::Order::serial;
  result.paced = wanted.order == wire::Order::late || wanted.order == wire::Order::between;
  std::vector<std::size_t> order(plan.steps.size());
  std::iota(order.begin(), order.end(), 0);
  if (wanted.order == wire::Order::late) order = recording::late(plan, wanted.late_stream);
  if (wanted.order == wire::Order::between) {
    auto [between, last] = recording::exchanged(plan, wanted.late_stream, wanted.swaps);
    order = std::move(between);
    result.swapped = last;
  }
  std::vector<bool> signals = awaited(plan);
  for (std::size_t index : order) {
    const recording::Step& step = plan.steps[index];
    Turn turn;
    turn.step = index;
    turn.operation = step.operation;
    turn.left_out = left_out.contains(step.operation);
    if (!serial) {
      turn.stream = step.stream;
      turn.after = step.after;
      turn.signals = signals[index];
    }
    bool waits = result.paced && !step.joined;
    (waits ? result.unjoined : result.turns).push_back(std::move(turn));
  }
  result.streams = side_streams(result.turns);
  return result;
}

namespace {

bool within(CUdeviceptr address, std::uint64_t bytes, const Extent& range) {
  return address >= range.address && bytes <= range.bytes && address - range.address <= range.bytes - bytes;
}

Extent extent_of(const recording::Span* span) {
  return span == nullptr ? Extent{} : Extent{span->address(), span->bytes()};
}

std::vector<Extent> committed_of(const recording::Recording& recording) {
  std::vector<Extent> result;
  if (recording.committed() != nullptr)
    for (const recording::Span* each : *recording.committed()) result.push_back(extent_of(each));
  return result;
}

bool within_any(CUdeviceptr address, std::uint64_t bytes, const std::vector<Extent>& ranges) {
  return std::ranges::any_of(ranges, [&](const Extent& each) { return within(address, bytes, each); });
}

template <typename T>
Outcome<> take(Outcome<T> made, T& place) {
  if (!made) return std::unexpected(made.error());
  place = std::move(*made);
  return {};
}

}  // namespace

Outcome<Arena> Arena::make(const Device& device, const wire::LoadRecordingT& request, const Fd& exported) {
  Arena arena;
  arena.bytes = request.arena_bytes;
  Extent at{request.arena_address, request.arena_bytes};
  if (at.bytes == 0 || at.address == 0 || at.address % device.page_bytes() != 0 ||
      !widen(at, device.page_bytes()))
    return infrastructure(fmt::format("no arena can lie at {:#x}, {} bytes", at.address, at.bytes));
  auto memory = Memory::imported(device.driver(), exported);
  if (!memory) return std::unexpected(memory.error());
  auto addresses = Reserved::make(
      device.driver(), {at.address, std::max<std::uint64_t>(at.bytes, driver::arena_reserved_bytes)});
  if (!addresses) return std::unexpected(addresses.error());
  arena.addresses = std::move(*addresses);
  auto mapped = Mapped::make(device.driver(), device.ordinal(), at, *memory);
  if (!mapped) return infrastructure("the arena: " + mapped.error().error);
  arena.mapped = std::move(*mapped);
  return arena;
}

Outcome<std::unique_ptr<Slot>> Slot::load(Device& device, const wire::LoadRecordingT& request, const Fd& file,
                                          const Fd& state) {
  std::unique_ptr<Slot> slot(new Slot(device, request));
  auto done = in_turn([&] { return slot->read(file); }, [&] { return slot->check(); },
                      [&] { return slot->prepare(state); });
  if (!done) return std::unexpected(done.error());
  return slot;
}

Slot::~Slot() {
  for (CUevent each : events_)
    if (each != nullptr) device_.driver().cuEventDestroy(each);
  for (CUstream each : streams_) device_.driver().cuStreamDestroy(each);
}

Outcome<> Slot::read(const Fd& file) {
  auto bytes = read_memory_file(file, recording::max_file_bytes);
  if (!bytes) return unsupported("the recording cannot be read: " + bytes.error().what);
  bytes_ = std::move(*bytes);
  auto view = recording::View::of(bytes_);
  if (!view) return unsupported("the recording is malformed: " + view.error().what);
  view_ = std::make_unique<recording::View>(*view);
  std::string why = why_not_replayable(recording());
  if (!why.empty()) return unsupported(std::move(why));
  return {};
}

Outcome<> Slot::check() const {
  Extent arena = extent_of(recording().arena());
  if (arena.bytes > 0 && (arena.address != request_.arena_address || arena.bytes > request_.arena_bytes))
    return unsupported("the inputs of the recorded call lay elsewhere");
  Extent heap = extent_of(recording().heap());
  if (heap.bytes > 0 && !within(heap.address, heap.bytes, device_.heap()))
    return unsupported("the recorder's heap lay elsewhere");
  if (request_.outputs_offset > request_.arena_bytes)
    return infrastructure("the arena has no room for outputs");
  auto committed = merged(committed_of(recording()));
  if (recording().state() != nullptr)
    for (const recording::Block* each : *recording().state())
      if (!within_any(each->address(), each->bytes(), committed))
        return unsupported("state lies where no memory was");
  for (const wire::OutputSpan& each : request_.outputs) {
    if (each.bytes() == 0) continue;
    if (!within_any(each.address(), each.bytes(), committed) &&
        !within(each.address(), each.bytes(), {request_.arena_address, request_.arena_bytes}))
      return unsupported(fmt::format("an output of {} bytes lies at {:#x}, where a replay has no memory",
                                     each.bytes(), each.address()));
    Extent room{request_.outputs_offset, request_.arena_bytes - request_.outputs_offset};
    if (!within(each.to(), each.bytes(), room)) return infrastructure("an output would lie outside its room");
  }
  return {};
}

Outcome<> Slot::prepare(const Fd& state) {
  plan_ = recording::plan(recording());
  return in_turn([&] { return device_.commit(committed_of(recording())); },
                 [&] { return import_state(state); },
                 [&] { return take(Program::load(device_.driver(), recording()), program_); },
                 [&] { return take(HostCopies::make(device_.driver(), recording()), host_); },
                 [&] { return make_streams(); });
}

Outcome<> Slot::import_state(const Fd& state) {
  Extent room{0, recording().state_bytes()};
  if (room.bytes == 0) return {};
  if (!state) return infrastructure("the recording has state, and its memory did not come along");
  if (!widen(room, device_.page_bytes())) return unsupported("the state's memory is larger than any");
  auto memory = Memory::imported(device_.driver(), state);
  if (!memory) return std::unexpected(memory.error());
  auto addresses = Reserved::make(device_.driver(), room);
  if (!addresses) return std::unexpected(addresses.error());
  state_ = std::move(*memory);
  state_addresses_ = std::move(*addresses);
  // Mapped once: a mapping at every replay would wait for other users of the driver each time.
  auto readable =
      Mapped::make(device_.driver(), device_.ordinal(), state_addresses_.extent(), state_, Access::read);
  if (readable) readable_state_ = std::move(*readable);
  return {};
}

Outcome<> Slot::make_streams() {
  const driver::Driver& driver = device_.driver();
  std::size_t count =
      recording().streams() == nullptr ? 1 : std::max<std::size_t>(recording().streams()->size(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* recorded = recording().streams() == nullptr
                               ? nullptr
                               : recording().streams()->Get(static_cast<flatbuffers::uoffset_t>(i));
    CUstream stream = nullptr;
    CUresult result = driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING,
                                                        recorded == nullptr ? 0 : recorded->priority());
    if (auto made = device_.checked(result, "making a stream"); !made)
      return infrastructure(made.error().error);
    streams_.push_back(stream);
  }
  events_.resize(plan_.steps.size());
  for (const Turn& each : schedule(plan_, Wanted{}, {}).turns) {
    if (!each.signals) continue;
    CUresult result = driver.cuEventCreate(&events_[each.step], CU_EVENT_DISABLE_TIMING);
    if (auto made = device_.checked(result, "making an event"); !made)
      return infrastructure(made.error().error);
  }
  return {};
}

Outcome<> Slot::restore_state() const {
  if (state_addresses_.extent().bytes == 0 || recording().state() == nullptr) return {};
  if (readable_state_.extent().bytes > 0) return copy_state();
  auto mapped = Mapped::make(device_.driver(), device_.ordinal(), state_addresses_.extent(), state_);
  if (!mapped) return infrastructure("the state: " + mapped.error().error);
  auto done = copy_state();
  // The copy must end before the mapping does, even after a failure.
  auto copied =
      device_.checked(device_.driver().cuStreamSynchronize(device_.stream()), "restoring the state");
  return done ? copied : done;
}

Outcome<> Slot::copy_state() const {
  Outcome<> done;
  for (const recording::Block* each : *recording().state()) {
    if (each->bytes() == 0) continue;
    CUdeviceptr from = state_addresses_.extent().address + each->at();
    CUresult result =
        device_.driver().cuMemcpyDtoDAsync(each->address(), from, each->bytes(), device_.stream());
    if (done = device_.checked(result, "restoring the state"); !done) break;
  }
  return done;
}

namespace {

// Enqueues the operations of a recording, each as one driver call.

CUresult copy(const driver::Driver& driver, const recording::Copy& work, CUstream stream) {
  if (work.row_bytes() == 0 || work.rows() == 0) return CUDA_SUCCESS;
  if (work.rows() == 1) return driver.cuMemcpyDtoDAsync(work.to(), work.from(), work.row_bytes(), stream);
  CUDA_MEMCPY2D what{};
  what.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  what.srcDevice = work.from();
  what.srcPitch = work.from_pitch();
  what.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  what.dstDevice = work.to();
  what.dstPitch = work.to_pitch();
  what.WidthInBytes = work.row_bytes();
  what.Height = work.rows();
  return driver.cuMemcpy2DAsync(&what, stream);
}

CUresult fill_rows(const driver::Driver& driver, const recording::Fill& work, CUstream stream) {
  auto byte = static_cast<unsigned char>(work.value());
  auto half = static_cast<unsigned short>(work.value());
  if (work.width() == 1)
    return driver.cuMemsetD2D8Async(work.to(), work.pitch(), byte, work.columns(), work.rows(), stream);
  if (work.width() == 2)
    return driver.cuMemsetD2D16Async(work.to(), work.pitch(), half, work.columns(), work.rows(), stream);
  return driver.cuMemsetD2D32Async(work.to(), work.pitch(), work.value(), work.columns(), work.rows(),
                                   stream);
}

CUresult fill(const driver::Driver& driver, const recording::Fill& work, CUstream stream) {
  if (work.columns() == 0 || work.rows() == 0) return CUDA_SUCCESS;
  if (work.rows() > 1) return fill_rows(driver, work, stream);
  auto byte = static_cast<unsigned char>(work.value());
  auto half = static_cast<unsigned short>(work.value());
  if (work.width() == 1) return driver.cuMemsetD8Async(work.to(), byte, work.columns(), stream);
  if (work.width() == 2) return driver.cuMemsetD16Async(work.to(), half, work.columns(), stream);
  return driver.cuMemsetD32Async(work.to(), work.value(), work.columns(), stream);
}

}  // namespace

CUresult Slot::enqueue(std::size_t operation, CUstream stream) const {
  const driver::Driver& driver = device_.driver();
  const auto* recorded = recording().operations()->Get(static_cast<flatbuffers::uoffset_t>(operation));
  switch (recorded->work_type()) {
    case recording::Work::Launch:
      return program_.enqueue(driver, operation, stream);
    case recording::Work::Copy:
      return copy(driver, *recorded->work_as_Copy(), stream);
    case recording::Work::Fill:
      return fill(driver, *recorded->work_as_Fill(), stream);
    case recording::Work::Upload: {
      auto bytes = host_.of(operation);
      if (bytes.empty()) return CUDA_SUCCESS;
      return driver.cuMemcpyHtoDAsync(recorded->work_as_Upload()->to(), bytes.data(), bytes.size(), stream);
    }
    case recording::Work::Download: {
      auto bytes = host_.of(operation);
      if (bytes.empty()) return CUDA_SUCCESS;
      return driver.cuMemcpyDtoHAsync(bytes.data(), recorded->work_as_Download()->from(), bytes.size(),
                                      stream);
    }
    default:
      return CUDA_SUCCESS;
  }
}

}  // namespace kw::replayer
