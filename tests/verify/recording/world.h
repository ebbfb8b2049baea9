// A small valid recording, for tests to change.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "image.h"
#include "verify/recording/plan.h"
#include "verify/recording/recording.h"

namespace kw::recording {

inline constexpr std::uint64_t heap = 0x300000000000;   // its first MiB is committed
inline constexpr std::uint64_t arena = 0x500000000000;  // 64 KiB
inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;

inline constexpr std::uint64_t largest = ~std::uint64_t{0};

// Stream 0, the caller's, is the legacy default stream; 1 and 2 are non-blocking; 3 is blocking.
class World {
 public:
  World();

  RecordingT recording;

  // Appends an operation; the reference lives until the next one is appended.
  LaunchT& launch(std::uint32_t stream = 0);
  CopyT& copy();
  FillT& fill();
  template <typename WorkT>
  WorkT& add(std::uint32_t stream, WorkT work) {
    auto operation = std::make_unique<OperationT>();
    operation->stream = stream;
    operation->work.Set(std::move(work));
    recording.operations.push_back(std::move(operation));
    return *static_cast<WorkT*>(recording.operations.back()->work.value);
  }
  void record(std::uint32_t stream, std::uint64_t event) { add(stream, EventRecordT()).event = event; }
  void wait(std::uint32_t stream, std::uint64_t event) { add(stream, EventWaitT()).event = event; }
  void host_waits(HostWaits scope, std::uint32_t stream = 0, std::uint64_t event = 0);

  // The image of cubin 0, and its hash.
  void set_image(const Image& image);
  void add_state(std::uint64_t address, std::uint64_t bytes, std::uint64_t at);
  void add_obstacle(const std::string& what, const std::string& detail);

  // The file.
  std::string bytes() const;
  // The error of View::of, or "" where it is valid.
  std::string refusal() const;
  Plan planned() const;
  std::string shown() const;
  std::string why_not_replayable() const;
};

// The content of tests/fuzz/corpus/fuzz_recording: some of every kind.
World full_world();

}  // namespace kw::recording
