// What is written down while a recording runs: operations in the order in which the host enqueued them, from
// any thread, and everything that forbids a replay.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heap.h"
#include "modules.h"
#include "recorder.h"
#include "recording_generated.h"

namespace kw::recorder {

inline constexpr std::size_t most_operations = 200'000;
inline constexpr std::size_t most_streams = 64;
inline constexpr std::size_t most_obstacles = 64;
inline constexpr std::uint64_t most_uploaded_bytes = std::uint64_t{512} << 20;
inline constexpr std::uint64_t most_downloaded_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t most_global_bytes = std::uint64_t{4} << 20;

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
  // As add(), for a launch, whose cubin is written down as well.
  void add_launch(CUstream stream, recording::LaunchT launch, const Image* image);
  void obstacle(std::string what, std::string detail);

  // A module's variables as the call found them: once an image.
  bool first_sight(const Image* image);
  void add_global(const Image* image, recording::GlobalT global);

  void allocated(Allocation block);
  // False, and an obstacle, once the call has sent or fetched too much.
  bool may_upload(std::uint64_t bytes);
  bool may_download(std::uint64_t bytes);

  // Ours: within the heap or the arena of the call, all of it.
  bool ours(std::uint64_t address, std::uint64_t bytes = 1) const;

  // The whole recording; the tape is empty afterwards. `images` are those of its cubins, in their order.
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

}  // namespace kw::recorder
