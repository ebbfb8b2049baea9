// A recording: the device state before the call, the operations in the order in which the host enqueued
// them, everything that forbids a replay, and the file that holds all of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/core/files.h"
#include "heap.h"
#include "modules.h"
#include "recorder.h"
#include "recording_generated.h"

namespace kw::recorder {

// The bytes of all that is allocated when a call begins, copied into memory of their own that can be
// exported.
class SavedState {
 public:
  // Replaces the saved state. The device is idle before and after. False: error_text() has the reason.
  bool save(const std::vector<Allocation>& blocks);
  // A descriptor of the memory for another process; -1 if there is none.
  int exported() const;
  void drop();

  std::uint64_t bytes() const { return bytes_; }
  // Each block's place in the memory.
  struct Saved {
    Allocation block;
    std::uint64_t at = 0;
  };
  const std::vector<Saved>& blocks() const { return blocks_; }

 private:
  bool copy_all(CUdeviceptr to);

  std::vector<Saved> blocks_;
  std::uint64_t bytes_ = 0;
  CUmemGenericAllocationHandle memory_ = 0;
};

// The content of a running recording: operations in the order in which the host enqueued them, from any
// thread, and everything that forbids a replay.
inline constexpr std::size_t most_operations = 200'000;
inline constexpr std::size_t most_streams = 64;
inline constexpr std::size_t most_obstacles = 64;
inline constexpr std::size_t most_markers = 2;  // with more than one, none is used
inline constexpr std::uint64_t most_uploaded_bytes = std::uint64_t{512} << 20;
inline constexpr std::uint64_t most_downloaded_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t most_global_bytes = std::uint64_t{4} << 20;

// A handle for a branch of a graph, a stream that the driver does not have. Launches of graphs share the
// branches.
CUstream branch_handle(std::size_t branch);

class Tape {
 public:
  void begin(const kwrec_call& call);
  void end() { running_ = false; }
  void clear();
  bool running() const { return running_; }
  // The stream on which the call's caller waits.
  CUstream caller() const { return caller_; }

  template <typename Work>
  void add(CUstream stream, Work work);
  // Adds a launch and its cubin.
  void add_launch(CUstream stream, recording::LaunchT launch, const Image* image);
  void obstacle(std::string what, std::string detail);
  // A marker between the operations so far and the later ones.
  void mark();

  // first_sight() returns true once per image: then the module's variables are added as the call found them.
  bool first_sight(const Image* image);
  void add_global(const Image* image, recording::GlobalT global);

  void allocated(Allocation block);
  // Notes memory in which graphs may write, allocated or not.
  void reserved(const std::vector<Allocation>& memory);
  // False, with an obstacle, if the call has uploaded or downloaded too much.
  bool may_upload(std::uint64_t bytes);
  bool may_download(std::uint64_t bytes);

  // Whether all of these bytes are inside the heap or the call's arena.
  bool ours(std::uint64_t address, std::uint64_t bytes = 1) const;

  // The complete recording; the tape is empty afterwards. `images` are those of its cubins, in their order.
  struct Taken {
    recording::RecordingT recording;
    std::vector<const Image*> images;
  };
  Taken take();

 private:
  std::uint32_t index_of(CUstream stream);
  std::uint32_t index_of(const Image* image);
  void push(CUstream stream, recording::WorkUnion work);

  std::atomic<bool> running_{false};
  std::mutex mutex_;
  recording::RecordingT recording_;
  std::vector<const Image*> images_;
  std::unordered_map<const Image*, std::uint32_t> image_index_;
  std::unordered_map<CUstream, std::uint32_t> stream_index_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> scratch_;
  std::set<std::pair<std::string, std::string>> obstacles_;
  std::set<const Image*> seen_;
  CUstream caller_ = nullptr;
  std::uint64_t arena_address_ = 0;
  std::uint64_t arena_bytes_ = 0;
  std::uint64_t uploaded_bytes_ = 0;
  std::uint64_t downloaded_bytes_ = 0;
};

Tape& tape();

template <typename Work>
void Tape::add(CUstream stream, Work work) {
  recording::WorkUnion any;
  any.Set(std::move(work));
  std::lock_guard lock(mutex_);
  push(stream, std::move(any));
}

// The FlatBuffer of wire/recording.fbs in a sealed memory file. Cubins are hashed here, and only those that
// were launched are written.
Result<Fd> written(Tape::Taken taken, const SavedState& state, const std::string& torch,
                   const std::string& triton);

}  // namespace kw::recorder
