#include "verify/workers/device_leases.h"

#include <algorithm>
#include <list>
#include <utility>

#include "base/async/wait.h"

namespace kw::engine {

struct DeviceLeases::State {
  // One that waits for this number of shares.
  struct Request {
    async::Event* granted;
    std::size_t shares;
  };

  State(async::Loop& on, std::size_t number) : loop(on), shares(number) {}

  // A grant is counted here, before the waiting coroutine resumes.
  void admit() {
    if (for_several.empty()) passed = 0;
    while (auto* line = next_line()) {
      if (!fits(line->front())) {
        if (line != &for_several || !may_pass()) return;
        line = &for_one;
        ++passed;
      } else if (line == &for_several) {
        passed = 0;
      }
      const Request first = line->front();
      line->pop_front();
      held += first.shares;
      first.granted->set();
    }
  }

  // Those who stepped aside or wait for the device alone have memory besides the shares that are held.
  bool others_hold_or_want_more() const {
    return !for_quiet.empty() || !aside.empty() || !for_all.empty() || !for_several.empty();
  }

  bool fits(const Request& request) const { return held + request.shares <= shares; }
  bool may_pass() const { return passed < shares && !for_one.empty() && fits(for_one.front()); }

  std::list<Request>* next_line() {
    for (std::list<Request>* line : {&for_quiet, &aside, &for_all, &for_several, &for_one})
      if (!line->empty()) return line;
    return nullptr;
  }

  void give_back(std::size_t number) {
    held -= number;
    admit();
  }

  async::Loop& loop;
  std::size_t shares;
  std::size_t held = 0;          // those who stepped aside hold none
  std::size_t yielding = 0;      // of these, by leases that step aside
  std::size_t passed = 0;        // single shares that were given before the first request for several
  std::list<Request> for_quiet;  // of all shares, beside the memory of those who stepped aside
  std::list<Request> aside;
  std::list<Request> for_all;
  std::list<Request> for_several;
  std::list<Request> for_one;
};

// A place in one of the queues. If the wait is cancelled or its coroutine is destroyed, the place is removed
// or the grant is returned, so that no later request waits behind it.
struct DeviceLeases::Turn {
  using Line = std::list<State::Request>;

  Turn(std::shared_ptr<State> of, Line& in, std::size_t wanted)
      : state(std::move(of)), line(in), shares(wanted), granted(state->loop) {
    line.push_back({&granted, shares});
  }
  ~Turn() {
    if (used) return;
    if (granted.is_set()) {
      state->give_back(shares);
    } else {
      std::erase_if(line, [this](const State::Request& each) { return each.granted == &granted; });
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
    co_return Lease(state, shares);
  }

  std::shared_ptr<State> state;
  Line& line;
  std::size_t shares;
  async::Event granted;
  bool used = false;
};

DeviceLeases::Lease::Lease(Lease&& other) noexcept
    : leases_(std::move(other.leases_)),
      shares_(std::exchange(other.shares_, 0)),
      yielding_(std::exchange(other.yielding_, false)) {}

DeviceLeases::Lease& DeviceLeases::Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  leases_ = std::move(other.leases_);
  shares_ = std::exchange(other.shares_, 0);
  yielding_ = std::exchange(other.yielding_, false);
  return *this;
}

void DeviceLeases::Lease::give_back() {
  set_yielding(false);
  if (auto leases = std::exchange(leases_, nullptr)) leases->give_back(std::exchange(shares_, 0));
}

void DeviceLeases::Lease::set_yielding(bool yielding) {
  if (!leases_ || yielding == yielding_) return;
  yielding_ = yielding;
  leases_->yielding += yielding ? shares_ : -shares_;
}

DeviceLeases::DeviceLeases(async::Loop& loop, std::size_t shares)
    : state_(std::make_shared<State>(loop, shares)) {}

async::Task<Lease> DeviceLeases::share() {
  Turn turn(state_, state_->for_one, 1);
  co_return co_await turn.wait();
}

async::Task<Lease> DeviceLeases::all() {
  Turn turn(state_, state_->for_all, state_->shares);
  co_return co_await turn.wait();
}

async::Task<Lease> DeviceLeases::all_instead_of(Lease lease) {
  Turn turn(state_, state_->for_quiet, state_->shares);
  lease.give_back();
  co_return co_await turn.wait();
}

bool DeviceLeases::calls_to_step_aside() const {
  return !state_->for_quiet.empty() && state_->yielding == state_->held;
}

async::Task<Lease> DeviceLeases::step_aside(Lease lease) {
  if (!calls_to_step_aside()) co_return lease;
  Turn turn(state_, state_->aside, lease.shares());
  lease.give_back();
  Lease again = co_await turn.wait();
  again.set_yielding(true);
  co_return again;
}

bool DeviceLeases::widen(Lease& share, std::size_t shares) {
  if (!share) return false;  // its wait was cancelled
  shares = std::min(shares, state_->shares);
  if (shares <= share.shares_) return true;
  const std::size_t more = shares - share.shares_;
  if (state_->others_hold_or_want_more() || state_->held + more > state_->shares) return false;
  state_->held += more;
  if (share.yielding_) state_->yielding += more;
  share.shares_ = shares;
  return true;
}

async::Task<Lease> DeviceLeases::several_instead_of(Lease share, std::size_t shares) {
  Turn turn(state_, state_->for_several, std::min(shares, state_->shares));
  share.give_back();
  co_return co_await turn.wait();
}

std::size_t DeviceLeases::size() const {
  return state_->shares;
}

bool DeviceLeases::has_others(const Lease& lease) const {
  return state_->held > lease.shares() || state_->next_line() != nullptr;
}

}  // namespace kw::engine
