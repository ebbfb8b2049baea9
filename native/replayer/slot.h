// A recording made ready on the device for repeated replays: its memory, the order of its operations, and
// its copies from and to the host.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device.h"
#include "device_memory.h"
#include "gaps.h"
#include "program.h"
#include "verify/messages/message.h"
#include "verify/recording/plan.h"
#include "verify/recording/recording.h"

namespace kw::replayer {

// The call's copies between host and device, in page-locked memory.
class HostCopies {
 public:
  static Outcome<HostCopies> make(const driver::Driver& driver, const recording::Recording& recording);

  // Rewrites the uploads and invalidates the downloads before a replay, since kernels can access page-locked
  // memory too.
  void refill();
  // The bytes of `operation`, which must be an upload or download.
  std::span<char> of(std::size_t operation) const;
  // Whether the downloads equal the recorded ones.
  bool downloads_equal() const;
  std::size_t downloads() const { return downloads_; }

 private:
  struct Copy {
    std::span<const std::uint8_t> recorded;  // points into the recording
    std::size_t at = 0;
    bool upload = false;
  };

  Pinned memory_;
  std::unordered_map<std::size_t, Copy> copies_;
  std::size_t downloads_ = 0;
};

// The order and streams of a replay's operations: a recording's plan under one of the orders of a Replay.
struct Turn {
  std::size_t step = 0;
  std::size_t operation = 0;
  std::size_t stream = 0;
  std::vector<std::size_t> after;  // steps whose events it waits for
  bool signals = false;            // records its event, since another step waits for it
  bool left_out = false;           // keeps its place but is not enqueued
};

struct Schedule {
  std::vector<Turn> turns;
  std::vector<Turn> unjoined;        // run after the outputs were copied, if paced
  std::vector<std::size_t> streams;  // those in use except [0]
  bool paced = false;                // each turn gets time to end before the next one is enqueued
  // Of order `between`: the steps of the last exchange.
  std::optional<std::pair<std::size_t, std::size_t>> swapped;
};

struct Wanted {
  wire::Order order = wire::Order::recorded;
  std::size_t late_stream = 0;
  std::uint64_t swaps = 0;
};

// `left_out`: operations.
Schedule schedule(const recording::Plan& plan, Wanted wanted, const std::set<std::size_t>& left_out);

// The oracle's memory: a trial's inputs and weights, then poison, which the outputs replace.
struct Arena {
  Reserved addresses;
  Mapped mapped;
  std::uint64_t bytes = 0;

  CUdeviceptr address() const { return addresses.extent().address; }
  static Outcome<Arena> make(const Device& device, const wire::LoadRecordingT& request, const Fd& exported);
};

class Slot {
 public:
  // `state` has no descriptor if the recording has no state.
  static Outcome<std::unique_ptr<Slot>> load(Device& device, const wire::LoadRecordingT& request,
                                             const Fd& file, const Fd& state);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  const recording::Recording& recording() const { return **view_; }
  const recording::Plan& plan() const { return plan_; }
  const Program& program() const { return program_; }
  HostCopies& host() { return host_; }
  std::size_t downloads() const { return host_.downloads(); }
  std::uint64_t arena_bytes() const { return request_.arena_bytes; }
  // The offset of the arena's poison.
  std::uint64_t outputs_offset() const { return request_.outputs_offset; }
  const std::vector<wire::OutputSpan>& outputs() const { return request_.outputs; }
  // The committed memory that no allocation of the call has.
  std::vector<Extent> gaps() const { return gaps_of(recording(), device_.committed()); }
  CUstream stream(std::size_t index) const { return streams_[index]; }
  CUevent event(std::size_t step) const { return events_[step]; }

  // Copies the blocks of the state to their places. So that no kernel can change the state, it is mapped
  // read-only, or only during the copy if the driver has no read-only mappings.
  Outcome<> restore_state() const;
  // Enqueues one operation of the recording; does nothing for events and waits of the host.
  CUresult enqueue(std::size_t operation, CUstream stream) const;

  // Whether every launch has run once, so that none has anything left to set up.
  bool warm = false;

 private:
  Slot(Device& device, const wire::LoadRecordingT& request) : device_(device), request_(request) {}
  Outcome<> read(const Fd& file);
  Outcome<> check() const;
  Outcome<> prepare(const Fd& state);
  Outcome<> import_state(const Fd& state);
  Outcome<> copy_state() const;
  Outcome<> make_streams();

  Device& device_;
  wire::LoadRecordingT request_;
  std::string bytes_;  // a copy, since the writer of the file may still change it
  std::unique_ptr<recording::View> view_;
  recording::Plan plan_;
  Memory state_;
  Reserved state_addresses_;
  Mapped readable_state_;  // none if the driver has no read-only mappings
  Program program_;
  HostCopies host_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;  // one for each step that others wait for, else null
};

}  // namespace kw::replayer
