// At most so many requests at once, first come, first served; fewer while the server is overloaded.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "async/semaphore.h"
#include "async/stop.h"

namespace kw::llm {

// The right to have a request on its way.
using Slot = async::Semaphore::Place;

// Overload halves what is allowed, once for all requests that were on their way together; after as many
// successes as are allowed it grows by one.
class Gate {
 public:
  Gate(async::Loop& loop, std::size_t most, std::chrono::milliseconds between_cuts = std::chrono::seconds(1));
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // A place in line. Who comes again with an old one, after a pause, is let in before those who came later.
  std::uint64_t ticket() { return slots_.ticket(); }

  // An empty slot where a stop was requested.
  async::Task<Slot> enter(std::uint64_t ticket, async::Stop* stop);

  void overloaded();
  void succeeded();
  std::size_t allowed() const { return allowed_; }

 private:
  std::size_t most_;
  std::size_t allowed_;
  std::size_t successes_ = 0;  // since allowed_ last changed
  std::chrono::milliseconds between_cuts_;
  async::SteadyClock::time_point last_cut_ = async::SteadyClock::time_point::min();
  async::Semaphore slots_;
};

}  // namespace kw::llm
