#include "async/semaphore.h"

#include <algorithm>
#include <list>
#include <utility>

namespace kw::async {

struct Semaphore::State {
  State(Loop& on, std::function<std::size_t()> number) : loop(on), places(std::move(number)) {}

  bool is_free() const { return taken < std::max<std::size_t>(1, places()); }

  // A place is counted as taken here, before the coroutine that waits for it runs: nobody slips in between.
  void admit() {
    while (!waiting.empty() && is_free()) {
      ++taken;
      Event* turn = waiting.front();
      waiting.pop_front();
      turn->set();
    }
  }

  Loop& loop;
  std::function<std::size_t()> places;
  std::size_t taken = 0;
  std::list<Event*> waiting;
};

Semaphore::Place::Place(Place&& other) noexcept : state_(std::move(other.state_)) {}

Semaphore::Place& Semaphore::Place::operator=(Place&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  state_ = std::move(other.state_);
  return *this;
}

void Semaphore::Place::give_back() {
  if (auto state = std::exchange(state_, nullptr)) {
    --state->taken;
    state->admit();
  }
}

Semaphore::Semaphore(Loop& loop, std::size_t places) : Semaphore(loop, [places] { return places; }) {}

Semaphore::Semaphore(Loop& loop, std::function<std::size_t()> places)
    : state_(std::make_shared<State>(loop, std::move(places))) {}

Task<Semaphore::Place> Semaphore::take() {
  // Leaves the queue, or gives the place back, where the wait is cancelled or its coroutine destroyed.
  struct Turn {
    explicit Turn(std::shared_ptr<State> of) : state(std::move(of)), granted(state->loop) {
      state->waiting.push_back(&granted);
      state->admit();
    }
    ~Turn() {
      if (!granted.is_set())
        state->waiting.remove(&granted);
      else if (!used)
        Place(state).give_back();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    std::shared_ptr<State> state;
    Event granted;
    bool used = false;
  };
  Turn turn(state_);
  co_await turn.granted.wait();
  if (!turn.granted.is_set()) co_return Place();
  turn.used = true;
  co_return Place(turn.state);
}

std::optional<Semaphore::Place> Semaphore::try_take() {
  if (!state_->waiting.empty() || !state_->is_free()) return std::nullopt;
  ++state_->taken;
  return Place(state_);
}

void Semaphore::admit() {
  state_->admit();
}

std::size_t Semaphore::taken() const {
  return state_->taken;
}

std::size_t Semaphore::waiting() const {
  return state_->waiting.size();
}

}  // namespace kw::async
