// Telling the service of evaluations that nobody waits for any more.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "remote/courier_state.h"

namespace kw::remote {
namespace {

// At once: after Ctrl-C there may be many, and little time.
constexpr std::size_t most_at_once = 8;

// Once each: a service that does not hear it judges in vain, and that is all.
async::Task<> cancel(std::shared_ptr<Courier::State> state) {
  while (!state->cancelled.empty() && !state->ending.requested()) {
    std::string id = std::move(state->cancelled.front());
    state->cancelled.pop_front();
    (void)co_await state->api->cancel(std::move(id), state->ending);
  }
  --state->cancelling;
}

}  // namespace

void Courier::State::start_cancelling() {
  std::size_t wanted = std::min(cancelled.size(), most_at_once);
  for (; cancelling < wanted; ++cancelling)
    boost::asio::co_spawn(loop, cancel(shared_from_this()), boost::asio::detached);
}

}  // namespace kw::remote
