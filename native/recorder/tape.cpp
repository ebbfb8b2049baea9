#include "tape.h"

#include <array>
#include <bit>

#include "base/core/crypto.h"
#include "branches.h"
#include "machine.h"
#include "verify/recording/recording.h"

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

namespace {

// Maps all handles of the legacy default stream to one.
CUstream plain(CUstream stream) {
  return stream == CU_STREAM_LEGACY ? nullptr : stream;
}

std::array<char, most_branches> branch_handles;

bool is_branch(CUstream stream) {
  const auto at = std::bit_cast<std::uintptr_t>(stream);
  const auto first = std::bit_cast<std::uintptr_t>(branch_handles.data());
  return at >= first && at < first + branch_handles.size();
}

recording::StreamT described(CUstream stream) {
  recording::StreamT as;
  if (is_branch(stream)) return as;
  as.legacy_default = stream == nullptr;
  as.blocking = true;
  unsigned flags = 0;
  int priority = 0;
  const driver::Driver& cuda = machine().driver;
  if (stream != nullptr && stream != CU_STREAM_PER_THREAD &&
      cuda.cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS)
    as.blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  if (stream != nullptr && cuda.cuStreamGetPriority(stream, &priority) == CUDA_SUCCESS)
    as.priority = priority;
  return as;
}

}  // namespace

CUstream branch_handle(std::size_t branch) {
  return std::bit_cast<CUstream>(&branch_handles.at(branch));
}

void Tape::begin(const kwrec_call& call) {
  clear();
  std::lock_guard lock(mutex_);
  arena_address_ = call.arena_address;
  arena_bytes_ = call.arena_bytes;
  recording_.arena = std::make_unique<recording::Span>(call.arena_address, call.arena_bytes);
  caller_ = plain(static_cast<CUstream>(call.stream));
  index_of(caller_);
  running_ = true;
}

void Tape::clear() {
  running_ = false;
  std::lock_guard lock(mutex_);
  recording_ = {};
  images_.clear();
  image_index_.clear();
  stream_index_.clear();
  scratch_.clear();
  obstacles_.clear();
  seen_.clear();
  uploaded_bytes_ = downloaded_bytes_ = 0;
}

std::uint32_t Tape::index_of(CUstream stream) {
  auto [place, fresh] =
      stream_index_.try_emplace(stream, static_cast<std::uint32_t>(recording_.streams.size()));
  if (fresh) recording_.streams.push_back(std::make_unique<recording::StreamT>(described(stream)));
  return place->second;
}

std::uint32_t Tape::index_of(const Image* image) {
  auto [place, fresh] = image_index_.try_emplace(image, static_cast<std::uint32_t>(images_.size()));
  if (fresh) {
    images_.push_back(image);
    recording_.cubins.push_back(std::make_unique<recording::CubinT>());
  }
  return place->second;
}

void Tape::push(CUstream stream, recording::WorkUnion work) {
  stream = plain(stream);
  bool crowded = recording_.operations.size() >= most_operations ||
                 (recording_.streams.size() >= most_streams && !stream_index_.contains(stream));
  if (crowded) {
    obstacles_.emplace("too much work", "more operations or streams than a recording holds");
    return;
  }
  auto operation = std::make_unique<recording::OperationT>();
  operation->stream = index_of(stream);
  operation->work = std::move(work);
  recording_.operations.push_back(std::move(operation));
}

void Tape::add_launch(CUstream stream, recording::LaunchT launch, const Image* image) {
  recording::WorkUnion any;
  std::lock_guard lock(mutex_);
  launch.cubin = index_of(image);
  any.Set(std::move(launch));
  push(stream, std::move(any));
}

void Tape::obstacle(std::string what, std::string detail) {
  std::lock_guard lock(mutex_);
  if (obstacles_.size() < most_obstacles) obstacles_.emplace(std::move(what), std::move(detail));
}

void Tape::mark() {
  std::lock_guard lock(mutex_);
  if (recording_.markers.size() < most_markers)
    recording_.markers.push_back(static_cast<std::uint32_t>(recording_.operations.size()));
}

bool Tape::first_sight(const Image* image) {
  std::lock_guard lock(mutex_);
  return seen_.insert(image).second;
}

void Tape::add_global(const Image* image, recording::GlobalT global) {
  std::lock_guard lock(mutex_);
  recording_.cubins[index_of(image)]->globals.push_back(
      std::make_unique<recording::GlobalT>(std::move(global)));
}

void Tape::allocated(Allocation block) {
  if (!running_) return;
  std::lock_guard lock(mutex_);
  scratch_.emplace(block.address, block.bytes);
}

void Tape::reserved(const std::vector<Allocation>& memory) {
  std::lock_guard lock(mutex_);
  for (const Allocation& each : memory) recording_.reserved.emplace_back(each.address, each.bytes);
}

bool Tape::may_upload(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > most_uploaded_bytes - uploaded_bytes_) {
    obstacles_.emplace("too much data", "the call sends more from the host than a recording holds");
    return false;
  }
  uploaded_bytes_ += bytes;
  return true;
}

bool Tape::may_download(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > most_downloaded_bytes - downloaded_bytes_) {
    obstacles_.emplace("too much data", "the call fetches more to the host than a recording holds");
    return false;
  }
  downloaded_bytes_ += bytes;
  return true;
}

bool Tape::ours(std::uint64_t address, std::uint64_t bytes) const {
  auto within = [&](std::uint64_t start, std::uint64_t length) {
    return address >= start && address - start < length && bytes <= length - (address - start);
  };
  return within(driver::heap_address, driver::heap_bytes) || within(arena_address_, arena_bytes_);
}

Tape::Taken Tape::take() {
  Taken taken;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [address, bytes] : scratch_) recording_.scratch.emplace_back(address, bytes);
    for (const auto& [what, detail] : obstacles_) {
      auto obstacle = std::make_unique<recording::ObstacleT>();
      obstacle->what = what;
      obstacle->detail = detail;
      recording_.obstacles.push_back(std::move(obstacle));
    }
    std::swap(taken.recording, recording_);
    taken.images.swap(images_);
  }
  clear();
  return taken;
}

Tape& tape() {
  static auto* one = new Tape;  // never destroyed: PyTorch still calls while the process ends
  return *one;
}

namespace {

void describe_machine(recording::RecordingT& recording) {
  const driver::Driver& cuda = machine().driver;
  CUdevice device = 0;
  char name[256] = "";
  int major = 0;
  int minor = 0;
  cuda.cuDriverGetVersion(&recording.driver_version);
  if (cuda.cuCtxGetDevice(&device) != CUDA_SUCCESS) return;
  if (cuda.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS) recording.gpu = name;
  cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  recording.compute_capability = static_cast<std::uint32_t>(10 * major + minor);
}

void describe_memory(recording::RecordingT& recording, const SavedState& state) {
  recording.heap = std::make_unique<recording::Span>(driver::heap_address, driver::heap_bytes);
  if (std::uint64_t committed = heap().committed_bytes(); committed > 0)
    recording.committed.emplace_back(driver::heap_address, committed);
  recording.state_bytes = state.bytes();
  for (const SavedState::Saved& saved : state.blocks()) {
    auto block = std::make_unique<recording::BlockT>();
    block->address = saved.block.address;
    block->bytes = saved.block.bytes;
    block->at = saved.at;
    recording.state.push_back(std::move(block));
  }
}

void describe_cubins(recording::RecordingT& recording, const std::vector<const Image*>& images) {
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::vector<std::uint8_t>& bytes = images[i]->bytes;
    recording.cubins[i]->image = bytes;
    recording.cubins[i]->sha256 = sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

// An upper estimate of the file's size: the reader refuses files over its limit. Uploads and downloads can be
// much larger than the images.
std::uint64_t estimated_bytes(const Tape::Taken& taken) {
  std::uint64_t total = std::uint64_t{1} << 20;
  for (const Image* image : taken.images) total += image->bytes.size();
  for (const auto& operation : taken.recording.operations) {
    total += 256;
    if (const auto* upload = operation->work.AsUpload()) total += upload->bytes.size();
    if (const auto* download = operation->work.AsDownload()) total += download->bytes.size();
    if (const auto* launch = operation->work.AsLaunch()) total += launch->parameters.size() + 512;
  }
  return total;
}

}  // namespace

Result<Fd> written(Tape::Taken taken, const SavedState& state, const std::string& torch,
                   const std::string& triton) {
  if (estimated_bytes(taken) > recording::max_file_bytes)
    return fail("the recording is larger than a recording may be");
  recording::RecordingT& recording = taken.recording;
  recording.version = recording::version;
  recording.torch = torch;
  recording.triton = triton;
  describe_machine(recording);
  describe_memory(recording, state);
  describe_cubins(recording, taken.images);
  flatbuffers::FlatBufferBuilder builder(1U << 20U);
  builder.Finish(recording::Recording::Pack(builder, &recording), recording::RecordingIdentifier());
  return memory_file("recording",
                     {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
}

}  // namespace kw::recorder
