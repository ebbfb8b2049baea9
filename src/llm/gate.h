// At most so many requests at once, first come, first served; fewer while the server is overloaded.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "async/event.h"
#include "async/stop.h"

namespace kw::llm {

class Gate;

// The right to have a request on its way; held until destroyed or given back.
class Slot {
 public:
  Slot() = default;
  explicit Slot(Gate* gate) : gate_(gate) {}
  Slot(Slot&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
  Slot& operator=(Slot&& other) noexcept;
  ~Slot() { give_back(); }
  void give_back();
  explicit operator bool() const { return gate_ != nullptr; }

 private:
  Gate* gate_ = nullptr;
};

// Overload halves what is allowed, once for all requests that were on their way together; after as many
// successes as are allowed it grows by one.
class Gate {
 public:
  Gate(async::Loop& loop, std::size_t most, std::chrono::milliseconds between_cuts = std::chrono::seconds(1));

  // A place in line. Who comes again with an old one, after a pause, is let in before those who came later.
  std::uint64_t ticket() { return next_ticket_++; }

  // An empty slot where a stop was requested.
  async::Task<Slot> enter(std::uint64_t ticket, async::Stop* stop);

  void overloaded();
  void succeeded();
  std::size_t allowed() const { return allowed_; }

 private:
  friend class Slot;
  class Place;
  void leave();
  void admit();

  async::Loop& loop_;
  std::size_t most_;
  std::size_t allowed_;
  std::size_t running_ = 0;
  std::size_t successes_ = 0;  // since allowed_ last changed
  std::chrono::milliseconds between_cuts_;
  async::SteadyClock::time_point last_cut_ = async::SteadyClock::time_point::min();
  std::uint64_t next_ticket_ = 0;
  std::map<std::uint64_t, std::shared_ptr<async::Event>> waiting_;
};

}  // namespace kw::llm
