// A replayer on the fake driver, with a recording that a test builds.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "fake_driver.h"
#include "verify/recording/world.h"
#include "worker.h"

namespace kw::replayer {

using recording::arena;
using recording::heap;

// The fake device's kernels take an address and a number: set, add and times change the word there; count
// adds to the variable `counter`, and wild writes to an unmapped address.
class ReplayWorld {
 public:
  ReplayWorld();

  fake::FakeDriver driver;
  recording::World world;
  std::shared_ptr<std::string> arena_memory;  // 64 KiB; outputs from the middle on
  std::shared_ptr<std::string> state_memory;
  wire::LoadRecordingT request;

  void launch(const std::string& kernel, std::uint64_t address, std::uint32_t value,
              std::uint32_t stream = 0);
  // A word of the state, at this address when the call began.
  void add_state(std::uint64_t address, std::uint32_t value);
  // Makes the word there an output, the first in the outputs' memory or the next.
  void add_output(std::uint64_t address, std::uint64_t bytes = 4);
  void poison(std::uint32_t word);

  wire::BodyUnion load();
  wire::BodyUnion replay(wire::ReplayT request = {});
  // Loads and replays without an error.
  wire::ReplayableT loaded();
  wire::ReplayedT replayed(wire::ReplayT request = {});
  // The text of the first failure of loading, or "".
  std::string refusal();
  wire::FailedT failure(wire::ReplayT request = {});
  std::uint32_t output(std::size_t index = 0) const;

  Worker& worker();

 private:
  wire::BodyUnion ask(const std::string& packet, const std::vector<Fd>& fds);

  std::unique_ptr<Worker> worker_;
};

inline constexpr std::uint64_t outputs_offset = 32768;

wire::ReplayT in_order(wire::Order order);
wire::ReplayT timed(std::uint32_t repeats = 1);

}  // namespace kw::replayer
