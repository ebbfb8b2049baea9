#include "llm/gate.h"

#include <algorithm>

#include "async/within.h"

namespace kw::llm {
namespace {

async::Task<bool> let_in(std::shared_ptr<async::Event> turn) {
  co_await turn->wait();
  co_return turn->is_set();
}

}  // namespace

Slot& Slot::operator=(Slot&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  gate_ = std::exchange(other.gate_, nullptr);
  return *this;
}

void Slot::give_back() {
  if (Gate* gate = std::exchange(gate_, nullptr)) gate->leave();
}

// One who waits. Whoever gives up, also by being cancelled, leaves the line or hands on what was granted.
class Gate::Place {
 public:
  Place(Gate& gate, std::uint64_t ticket) : gate_(&gate), ticket_(ticket) {
    turn_ = std::make_shared<async::Event>(gate.loop_);
    gate.waiting_.emplace(ticket, turn_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (!gate_) return;
    if (turn_->is_set())
      gate_->leave();
    else
      gate_->waiting_.erase(ticket_);
  }

  const std::shared_ptr<async::Event>& turn() const { return turn_; }
  Slot take() { return Slot(std::exchange(gate_, nullptr)); }

 private:
  Gate* gate_;
  std::uint64_t ticket_;
  std::shared_ptr<async::Event> turn_;
};

Gate::Gate(async::Loop& loop, std::size_t most, std::chrono::milliseconds between_cuts)
    : loop_(loop), most_(std::max<std::size_t>(most, 1)), allowed_(most_), between_cuts_(between_cuts) {}

async::Task<Slot> Gate::enter(std::uint64_t ticket, async::Stop* stop) {
  Place place(*this, ticket);
  admit();
  if (!place.turn()->is_set()) co_await async::within(async::Deadline::never(), stop, let_in(place.turn()));
  bool stopped = stop != nullptr && stop->requested();
  if (stopped || !place.turn()->is_set()) co_return Slot();
  co_return place.take();
}

void Gate::leave() {
  --running_;
  admit();
}

// What is granted is counted here, before the one who waits wakes up.
void Gate::admit() {
  while (running_ < allowed_ && !waiting_.empty()) {
    ++running_;
    waiting_.begin()->second->set();
    waiting_.erase(waiting_.begin());
  }
}

void Gate::overloaded() {
  successes_ = 0;
  auto now = async::SteadyClock::now();
  bool first = last_cut_ == async::SteadyClock::time_point::min();
  if (!first && now - last_cut_ < between_cuts_) return;
  last_cut_ = now;
  allowed_ = std::max<std::size_t>(allowed_ / 2, 1);
}

void Gate::succeeded() {
  if (allowed_ >= most_ || ++successes_ < allowed_) return;
  successes_ = 0;
  ++allowed_;
  admit();
}

}  // namespace kw::llm
