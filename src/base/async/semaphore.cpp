#include "base/async/semaphore.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/async/wait.h"

namespace kw::async {

struct Semaphore::State {
  State(Loop& on, std::function<std::size_t()> number) : loop(on), places(std::move(number)) {}

  bool is_free() const { return taken < std::max<std::size_t>(1, places()); }

  // Counts a place as taken before its waiter resumes, so that no other caller can take it in between.
  void admit() {
    while (!waiting.empty() && is_free()) {
      ++taken;
      auto next = preferred();
      passed_over = next == waiting.begin() ? 0 : passed_over + 1;
      Event* turn = next->second;
      waiting.erase(next);
      turn->set();
    }
  }

  std::map<std::uint64_t, Event*>::iterator preferred() {
    if (!rank || passed_over >= patience) return waiting.begin();
    return std::ranges::min_element(waiting, {}, [this](const auto& each) { return rank(each.first); });
  }

  Loop& loop;
  std::function<std::size_t()> places;
  std::size_t taken = 0;
  std::uint64_t next_ticket = 0;
  std::map<std::uint64_t, Event*> waiting;
  std::function<int(std::uint64_t)> rank;  // empty: all are equal
  std::size_t patience = 0;
  std::size_t passed_over = 0;  // how often the earliest waiter was
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

void Semaphore::rank_by(std::function<int(std::uint64_t)> rank, std::size_t patience) {
  state_->rank = std::move(rank);
  state_->patience = patience;
}

std::uint64_t Semaphore::ticket() {
  return state_->next_ticket++;
}

Task<Semaphore::Place> Semaphore::take(std::uint64_t ticket) {
  // Leaves the queue, or returns the granted place, if the wait is cancelled or its coroutine is destroyed.
  struct Turn {
    Turn(std::shared_ptr<State> of, std::uint64_t at)
        : state(std::move(of)), number(at), granted(state->loop) {
      state->waiting.emplace(number, &granted);
      state->admit();
    }
    ~Turn() {
      if (!granted.is_set())
        state->waiting.erase(number);
      else if (!used)
        Place(state).give_back();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    std::shared_ptr<State> state;
    std::uint64_t number;
    Event granted;
    bool used = false;
  };
  Turn turn(state_, ticket);
  co_await turn.granted.wait();
  if (!turn.granted.is_set()) co_return Place();
  turn.used = true;
  co_return Place(turn.state);
}

Task<Semaphore::Place> Semaphore::take(std::uint64_t ticket, Stop& stop) {
  if (stop.requested()) co_return Place();
  auto waited = co_await within(Deadline::never(), &stop, take(ticket));
  co_return waited.value && !stop.requested() ? std::move(*waited.value) : Place();
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
