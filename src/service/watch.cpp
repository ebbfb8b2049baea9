#include "service/watch.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kw::service {

namespace asio = boost::asio;

Watch::Watch(async::Loop& loop, Watches& all, std::vector<EntryPtr> entries)
    : all_(all), entries_(std::move(entries)), timer_(loop) {
  all_.insert(this);
  for (const EntryPtr& entry : entries_) {
    auto& watches = entry->watches;
    watches.insert(std::ranges::lower_bound(watches, this), this);
  }
}

Watch::~Watch() {
  all_.erase(this);
  for (const EntryPtr& entry : entries_) {
    auto place = std::ranges::lower_bound(entry->watches, this);
    if (place != entry->watches.end() && *place == this) entry->watches.erase(place);
  }
}

async::Task<> Watch::wait(async::Deadline deadline) {
  auto cancellation = co_await asio::this_coro::cancellation_state;
  boost::system::error_code ignored;
  timer_.expires_at(deadline.at);
  if (!woken_ && cancellation.cancelled() == asio::cancellation_type::none)
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  woken_ = false;
}

void Watch::wake() {
  woken_ = true;
  timer_.cancel();
}

void changed(Entry& entry) {
  for (Watch* watch : entry.watches) watch->wake();
}

}  // namespace kw::service
