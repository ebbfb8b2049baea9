// Telling the service of evaluations that nobody waits for any more.
#include "async/spawn.h"
#include "remote/courier_state.h"

namespace kw::remote {
namespace {

// Once each: a service that does not hear it judges in vain, and that is all.
async::Task<> cancel(std::shared_ptr<Courier::State> state) {
  while (!state->cancelled.empty() && !state->ending.requested()) {
    std::string id = std::move(state->cancelled.front());
    state->cancelled.pop_front();
    (void)co_await state->api->cancel(std::move(id), state->ending);
  }
}

}  // namespace

void Courier::State::start_cancelling() {
  while (!ending.requested() && cancelling.taken() < cancelled.size()) {
    auto place = cancelling.try_take();
    if (!place) return;
    auto ended = [self = shared_from_this(), held = std::move(*place)](const std::exception_ptr&) mutable {
      held.give_back();
      self->start_cancelling();
    };
    async::spawn(loop, cancel(shared_from_this()), std::move(ended));
  }
}

}  // namespace kw::remote
