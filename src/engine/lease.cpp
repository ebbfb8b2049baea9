#include "engine/lease.h"

namespace kw::engine {

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  desk_ = std::exchange(other.desk_, nullptr);
  exclusive_ = other.exclusive_;
  return *this;
}

void Lease::give_back() {
  if (LeaseDesk* desk = std::exchange(desk_, nullptr)) desk->give_back(exclusive_);
}

async::Task<Lease> LeaseDesk::share() {
  auto turn = std::make_shared<async::Event>(loop_);
  for_share_.push_back(turn);
  admit();
  co_await turn->wait();
  co_return Lease(this, false);
}

async::Task<Lease> LeaseDesk::all() {
  auto turn = std::make_shared<async::Event>(loop_);
  for_all_.push_back(turn);
  admit();
  co_await turn->wait();
  co_return Lease(this, true);
}

async::Task<Lease> LeaseDesk::all_instead_of(Lease share) {
  auto turn = std::make_shared<async::Event>(loop_);
  for_all_.push_back(turn);
  share.give_back();
  admit();
  co_await turn->wait();
  co_return Lease(this, true);
}

void LeaseDesk::give_back(bool exclusive) {
  if (exclusive)
    exclusive_ = false;
  else
    --shared_;
  admit();
}

// What is granted is counted here, before the one who waits wakes up.
void LeaseDesk::admit() {
  if (exclusive_) return;
  if (!for_all_.empty()) {
    if (shared_ > 0) return;
    exclusive_ = true;
    for_all_.front()->set();
    for_all_.pop_front();
    return;
  }
  while (!for_share_.empty() && shared_ < shares_) {
    ++shared_;
    for_share_.front()->set();
    for_share_.pop_front();
  }
}

}  // namespace kw::engine
