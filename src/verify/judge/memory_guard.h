// Guards a device's memory against its candidates, by what the driver says of it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/async/wait.h"
#include "verify/judge/devices.h"
#include "verify/workers/oracle.h"
#include "verify/workers/worker.h"

namespace kw::verify {

// While runners live, it reads the device's free memory several times a second. When little is left, it ends
// unused oracles; when that does not help, the runner that holds most. Where the driver lists no processes it
// ends all of them if memory has gone since they started. An ended runner has no fault: its job is judged
// again alone, where it may take nearly all that is free. A runner alone that takes more is over its limit.
class MemoryGuard {
  struct Entry;

 public:
  // `jobs` share the device.
  MemoryGuard(async::Loop& loop, std::unique_ptr<DeviceMemoryReader> memory, engine::OraclePool& oracles,
              std::size_t jobs);
  ~MemoryGuard();

  // Watches a runner until it is destroyed, which comes before the runner's own end.
  class Watched {
   public:
    Watched() = default;
    Watched(Watched&& other) noexcept : entry_(std::move(other.entry_)) { other.entry_.reset(); }
    Watched& operator=(Watched&& other) noexcept;
    ~Watched() { leave(); }

   private:
    friend class MemoryGuard;
    explicit Watched(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
    void leave();

    std::shared_ptr<Entry> entry_;
  };
  Watched watch(engine::Worker& runner, bool is_alone);

 private:
  struct State;
  static async::Task<> keep_looking(std::shared_ptr<State> state);
  static async::Task<> look(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace kw::verify
