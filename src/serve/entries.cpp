#include "serve/entries.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kw::service {

void Deadlines::add(const EntryPtr& entry) {
  if (entry->deadline.at == async::Deadline::never().at) return;
  pending_.emplace(entry->deadline.at, entry);
  if (pending_.begin()->second == entry) arm();
}

void Deadlines::remove(const EntryPtr& entry) {
  pending_.erase({entry->deadline.at, entry});
}

void Deadlines::stop() {
  pending_.clear();
  timer_.cancel();
}

void Deadlines::arm() {
  if (pending_.empty()) return;
  timer_.expires_at(pending_.begin()->first);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;  // armed again, or stopped
    const auto now = async::SteadyClock::now();
    while (!pending_.empty() && pending_.begin()->first <= now) {
      EntryPtr due = pending_.begin()->second;
      pending_.erase(pending_.begin());
      on_due_(due);
    }
    arm();
  });
}

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

std::size_t Shelf::weight(const EvaluationState& record) {
  constexpr std::size_t bookkeeping = 256;
  return bookkeeping + record.id.size() + (record.verdict ? record.verdict->size() : 0);
}

void Shelf::put(const EvaluationState& record) {
  if (by_id_.contains(record.id)) return;
  records_.push_back(record);
  by_id_.emplace(records_.back().id, &records_.back());
  bytes_ += weight(record);
  while (bytes_ > most_) {
    bytes_ -= weight(records_.front());
    by_id_.erase(records_.front().id);
    records_.pop_front();
  }
}

const EvaluationState* Shelf::find(std::string_view id) const {
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

}  // namespace kw::service
