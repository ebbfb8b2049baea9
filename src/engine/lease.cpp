#include "engine/lease.h"

#include <list>
#include <utility>

#include "async/event.h"

namespace kw::engine {

struct LeaseDesk::State {
  State(async::Loop& on, std::size_t number) : loop(on), shares(number) {}

  // What is granted is counted here, before the one who waits wakes up.
  void admit() {
    if (exclusive) return;
    if (!for_all.empty()) {
      if (shared > 0) return;
      exclusive = true;
      grant_first(for_all);
      return;
    }
    while (!for_share.empty() && shared < shares) {
      ++shared;
      grant_first(for_share);
    }
  }

  static void grant_first(std::list<async::Event*>& queue) {
    async::Event* granted = queue.front();
    queue.pop_front();
    granted->set();
  }

  void give_back(bool was_exclusive) {
    if (was_exclusive)
      exclusive = false;
    else
      --shared;
    admit();
  }

  async::Loop& loop;
  std::size_t shares;
  std::size_t shared = 0;
  bool exclusive = false;
  std::list<async::Event*> for_share;
  std::list<async::Event*> for_all;
};

// A place in one of the lines. It is left, or what was granted is given back, where the wait is cancelled or
// its coroutine destroyed: nobody would wait behind one who is gone.
struct LeaseDesk::Turn {
  Turn(std::shared_ptr<State> of, bool for_all)
      : state(std::move(of)), exclusive(for_all), granted(state->loop) {
    line().push_back(&granted);
  }
  ~Turn() {
    if (used) return;
    if (granted.is_set()) {
      state->give_back(exclusive);
    } else {
      line().remove(&granted);
      state->admit();
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  async::Task<Lease> wait() {
    state->admit();
    co_await granted.wait();
    if (!granted.is_set()) co_return Lease();
    used = true;
    co_return Lease(state, exclusive);
  }

  std::list<async::Event*>& line() { return exclusive ? state->for_all : state->for_share; }

  std::shared_ptr<State> state;
  bool exclusive;
  async::Event granted;
  bool used = false;
};

LeaseDesk::Lease::Lease(Lease&& other) noexcept
    : desk_(std::move(other.desk_)), exclusive_(other.exclusive_) {}

LeaseDesk::Lease& LeaseDesk::Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  desk_ = std::move(other.desk_);
  exclusive_ = other.exclusive_;
  return *this;
}

void LeaseDesk::Lease::give_back() {
  if (auto desk = std::exchange(desk_, nullptr)) desk->give_back(exclusive_);
}

LeaseDesk::LeaseDesk(async::Loop& loop, std::size_t shares) : state_(std::make_shared<State>(loop, shares)) {}

async::Task<Lease> LeaseDesk::share() {
  Turn turn(state_, false);
  co_return co_await turn.wait();
}

async::Task<Lease> LeaseDesk::all() {
  Turn turn(state_, true);
  co_return co_await turn.wait();
}

async::Task<Lease> LeaseDesk::all_instead_of(Lease share) {
  Turn turn(state_, true);
  share.give_back();
  co_return co_await turn.wait();
}

bool LeaseDesk::has_others() const {
  return state_->shared > 1 || !state_->for_share.empty() || !state_->for_all.empty();
}

}  // namespace kw::engine
