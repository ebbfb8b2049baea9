#include "tape.h"

namespace kw::recorder {
namespace {

// All names of the legacy default stream are one.
CUstream plain(CUstream stream) {
  return stream == CU_STREAM_LEGACY ? nullptr : stream;
}

recording::StreamT described(CUstream stream) {
  recording::StreamT as;
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
  static auto* one = new Tape;  // PyTorch still calls us while the process ends
  return *one;
}

}  // namespace kw::recorder
