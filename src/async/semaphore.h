// Semaphore: so many places, given in the order of tickets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "async/stop.h"

namespace kw::async {

class Semaphore {
  struct State;

 public:
  // A place, held until it is destroyed or given back. It may outlive the semaphore.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept;
    Place& operator=(Place&& other) noexcept;
    ~Place() { give_back(); }

    void give_back();
    explicit operator bool() const { return state_ != nullptr; }

   private:
    friend class Semaphore;
    explicit Place(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;
  };

  Semaphore(Loop& loop, std::size_t places);
  // The number is asked for at each turn, since it may change; 0 counts as 1.
  Semaphore(Loop& loop, std::function<std::size_t()> places);

  // Who comes again with an earlier ticket waits before those who came later. One wait at a time has it.
  std::uint64_t ticket();
  // The next free place, behind earlier tickets; by default the ticket is new. Empty only where the wait was
  // cancelled, or `stop` is requested.
  Task<Place> take() { return take(ticket()); }
  Task<Place> take(std::uint64_t ticket);
  Task<Place> take(Stop& stop) { return take(ticket(), stop); }
  Task<Place> take(std::uint64_t ticket, Stop& stop);
  // A place that is free now and that nobody waits for.
  std::optional<Place> try_take();
  // Gives places to those who wait: call it where the number of places grew.
  void admit();

  std::size_t taken() const;
  std::size_t waiting() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kw::async
