// Semaphore: a limited number of places, given in the order of tickets or of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/async/wait.h"

namespace kw::async {

class Semaphore {
  struct State;

 public:
  // A place, held until it is destroyed or released. It may outlive the semaphore.
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
  // Calls the function whenever it needs the number of places, which may change; 0 counts as 1.
  Semaphore(Loop& loop, std::function<std::size_t()> places);

  // From now on the waiter with the least rank precedes; among equal ranks the earliest ticket does. The
  // earliest ticket of all is passed over `patience` times at most.
  void rank_by(std::function<int(std::uint64_t ticket)> rank, std::size_t patience);

  // A waiter that returns with an earlier ticket precedes later tickets. Only one wait at a time may use a
  // ticket.
  std::uint64_t ticket();
  // The next free place, after earlier tickets; by default the ticket is new. Empty only if the wait was
  // cancelled or `stop` was requested.
  Task<Place> take() { return take(ticket()); }
  Task<Place> take(std::uint64_t ticket);
  Task<Place> take(Stop& stop) { return take(ticket(), stop); }
  Task<Place> take(std::uint64_t ticket, Stop& stop);
  // A place that is free now, if there are no waiters.
  std::optional<Place> try_take();
  // Gives free places to waiters: call it after the number of places has grown.
  void admit();

  std::size_t taken() const;
  std::size_t waiting() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace kw::async
