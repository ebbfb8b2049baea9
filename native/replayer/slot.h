// A recording made ready on the device, so that it can be replayed again and again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device.h"
#include "host_copies.h"
#include "program.h"
#include "recording/plan.h"
#include "recording/recording.h"
#include "wire/message.h"

namespace kw::replayer {

// Memory of the oracle's: inputs and weights as a trial has them, then poison, in whose place the outputs
// come.
struct Arena {
  Reserved addresses;
  Mapped mapped;
  std::uint64_t bytes = 0;

  CUdeviceptr address() const { return addresses.extent().address; }
  static Outcome<Arena> make(const Device& device, const wire::LoadRecordingT& request, const Fd& exported);
};

class Slot {
 public:
  // `state` holds no descriptor where the recording has no state.
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
  // Where the arena's poison begins, within it.
  std::uint64_t outputs_offset() const { return request_.outputs_offset; }
  const std::vector<wire::OutputSpan>& outputs() const { return request_.outputs; }
  CUstream stream(std::size_t index) const { return streams_[index]; }
  CUevent event(std::size_t step) const { return events_[step]; }

  // Copies the blocks of the state to where they were. It is mapped for reading alone, or where the driver
  // knows no such thing, meanwhile only, so that no kernel can change it.
  Outcome<> restore_state() const;
  // Enqueues one operation of the recording; events and waits of the host are none.
  CUresult enqueue(std::size_t operation, CUstream stream) const;

  // Whether every launch has run once: then none has anything left to set up.
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
  std::string bytes_;  // our own: whoever wrote the file may still write to it
  std::unique_ptr<recording::View> view_;
  recording::Plan plan_;
  Memory state_;
  Reserved state_addresses_;
  Mapped readable_state_;  // none where the driver maps nothing for reading alone
  Program program_;
  HostCopies host_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;  // one a step on which others wait, else null
};

}  // namespace kw::replayer
