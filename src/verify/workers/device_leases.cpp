#include "verify/workers/device_leases.h"

#include <list>
#include <utility>

#include "base/async/wait.h"

namespace kw::engine {

struct DeviceLeases::State {
  State(async::Loop& on, std::size_t number) : loop(on), shares(number) {}

  // A grant is counted here, before the waiting coroutine resumes.
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

// A place in one of the queues. If the wait is cancelled or its coroutine is destroyed, the place is removed
// or the grant is returned, so that no later request waits behind it.
struct DeviceLeases::Turn {
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

DeviceLeases::Lease::Lease(Lease&& other) noexcept
    : leases_(std::move(other.leases_)), exclusive_(other.exclusive_) {}

DeviceLeases::Lease& DeviceLeases::Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  leases_ = std::move(other.leases_);
  exclusive_ = other.exclusive_;
  return *this;
}

void DeviceLeases::Lease::give_back() {
  if (auto leases = std::exchange(leases_, nullptr)) leases->give_back(exclusive_);
}

DeviceLeases::DeviceLeases(async::Loop& loop, std::size_t shares)
    : state_(std::make_shared<State>(loop, shares)) {}

async::Task<Lease> DeviceLeases::share() {
  Turn turn(state_, false);
  co_return co_await turn.wait();
}

async::Task<Lease> DeviceLeases::all() {
  Turn turn(state_, true);
  co_return co_await turn.wait();
}

async::Task<Lease> DeviceLeases::all_instead_of(Lease share) {
  Turn turn(state_, true);
  share.give_back();
  co_return co_await turn.wait();
}

bool DeviceLeases::has_others() const {
  return state_->shared > 1 || !state_->for_share.empty() || !state_->for_all.empty();
}

}  // namespace kw::engine
