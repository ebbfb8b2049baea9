#include "llm/gate.h"

#include <algorithm>

namespace kw::llm {

Gate::Gate(async::Loop& loop, std::size_t most, std::chrono::milliseconds between_cuts)
    : most_(std::max<std::size_t>(most, 1)),
      allowed_(most_),
      between_cuts_(between_cuts),
      slots_(loop, [this] { return allowed_; }) {}

async::Task<Slot> Gate::enter(std::uint64_t ticket, async::Stop* stop) {
  return stop != nullptr ? slots_.take(ticket, *stop) : slots_.take(ticket);
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
  slots_.admit();
}

}  // namespace kw::llm
