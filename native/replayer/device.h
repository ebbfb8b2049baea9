// A device as the replayer holds it from its start: a context, the recorder's range of addresses, a gate and
// a stream; and the device's clock. A spare process prepares all of it before it is needed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device_memory.h"
#include "marks.h"

namespace kw::replayer {

// Behind a closed gate a stream's queue can fill up; the next call that enqueues would then block for ever.
inline constexpr std::size_t max_behind_gate = 512;

class Gate {
 public:
  static Outcome<Gate> make(const driver::Driver& driver);

  // Later work on the stream waits until open().
  CUresult close(CUstream stream);
  void open();
  bool closed() const { return closed_; }

 private:
  explicit Gate(const driver::Driver& driver) : driver_(&driver) {}
  void write(std::uint32_t value);

  const driver::Driver* driver_;
  Pinned word_;
  CUdeviceptr address_ = 0;
  std::uint32_t ticket_ = 0;
  bool closed_ = false;
};

// A device as the replayer holds it from its start: a context, the recorder's range of addresses, a gate, and
// a stream for the work around a replay. A spare process prepares all of it in advance.
class Device {
 public:
  static Outcome<std::unique_ptr<Device>> open(const driver::Driver& driver, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const driver::Driver& driver() const { return driver_; }
  int ordinal() const { return ordinal_; }
  std::uint64_t page_bytes() const { return page_bytes_; }
  std::uint64_t l2_bytes() const { return l2_bytes_; }
  unsigned compute_capability() const { return compute_capability_; }  // 90
  CUstream stream() const { return stream_; }
  Gate& gate() { return *gate_; }
  Extent heap() const { return heap_.extent(); }

  Outcome<> checked(CUresult result, std::string_view what) const {
    return replayer::checked(driver_, result, what);
  }

  // Maps memory to these parts of the heap, unless they have it already. Out of memory: unsupported.
  Outcome<> commit(std::vector<Extent> spans);
  std::span<const Extent> committed() const { return committed_; }
  void give_heap_back();

 private:
  Device(const driver::Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}
  Outcome<> prepare();
  Outcome<> fits(std::uint64_t bytes) const;

  const driver::Driver& driver_;
  int ordinal_ = 0;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t l2_bytes_ = 0;
  unsigned compute_capability_ = 0;
  CUstream stream_ = nullptr;
  std::unique_ptr<Gate> gate_;
  Reserved heap_;
  std::vector<Extent> committed_;
  std::vector<Mapped> chunks_;  // declared last: destroyed before the range that contains them
};

using SteadyClock = std::chrono::steady_clock;

inline double ms_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

// The longest time for which the host watches the marks of a sample; the clocks agree well on longer ones.
inline constexpr auto longest_watch = std::chrono::milliseconds(20);

// The device's clock: pairs of events, and events between streams.
class Clock {
 public:
  static Outcome<Clock> make(Device& device);
  ~Clock();
  Clock(Clock&& other) noexcept;
  Clock& operator=(Clock&&) = delete;

  // Timed events, created on demand.
  Outcome<CUevent> event(std::size_t index);
  // An event without a time, for one stream to wait for another.
  CUevent joint() const { return joint_; }

  // Milliseconds between two completed events, minus the floor; never below 0.
  Outcome<double> between_ms(CUevent begin, CUevent end) const;
  double floor_ms() const { return floor_ms_; }
  // The same by the host's clock, from the gate's opening to the end of the wait for the stream.
  double host_floor_ms() const { return host_floor_ms_; }
  // The same between the marks; none if the host saw them in too few tries.
  std::optional<double> marked_floor_ms() const { return marked_floor_ms_; }
  Marks& marks() { return marks_; }

  // Measures the floors: the times of two events and marks behind the gate with nothing between them. The
  // device's is the mean of the middle half of several tries, the host's is the least of them, and of those
  // of the marks a sixteenth is less. An idle device reads more than a busy one, so the first two are
  // measured again at work. They never grow, since foreign code has run by then.
  Outcome<> find_floor(CUstream stream);
  // The same at the first call only, since it takes as long as many replays.
  Outcome<> find_floor_at_work(CUstream stream);

 private:
  Clock(Device& device, Marks marks) : device_(device), marks_(std::move(marks)) {}

  Device& device_;
  Marks marks_;
  std::vector<CUevent> events_;
  CUevent joint_ = nullptr;
  double floor_ms_ = 0;
  double host_floor_ms_ = 0;
  std::optional<double> marked_floor_ms_;
  bool found_at_work_ = false;
};

}  // namespace kw::replayer
