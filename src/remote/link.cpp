#include "remote/link.h"

#include <fmt/format.h>

#include <algorithm>

#include "async/within.h"

namespace kw::remote {

using std::chrono::milliseconds;

namespace {

// A service that comes back so soon is not worth a word.
constexpr double quiet_ms = 1500;

}  // namespace

void Link::answered() {
  if (!away_since_) return;
  if (has_complained_)
    say(fmt::format("{} is back after {:.0f} s", options_.name, async::ms_since(*away_since_) / 1000));
  away_since_.reset();
  has_complained_ = false;
}

async::Task<bool> Link::bear(Trouble trouble, http::Backoff& backoff, async::Stop& stop) {
  if (!away_since_) away_since_ = async::SteadyClock::now();
  double away_ms = async::ms_since(*away_since_);
  double left_ms = static_cast<double>(options_.patience.count()) - away_ms;
  if (left_ms <= 0) co_return false;
  if (away_ms > quiet_ms && !std::exchange(has_complained_, true))
    say(fmt::format("{}; waiting up to {:.0f} s for it", trouble.what, left_ms / 1000));
  // The last try comes when patience ends.
  auto wait =
      std::min(backoff.next(trouble.retry_after, random_), milliseconds(static_cast<long>(left_ms) + 1));
  co_await async::pause(wait, stop);
  co_return !stop.requested();
}

}  // namespace kw::remote
