// Shared state of the courier's coroutines, which post, watch and cancel evaluations.
#pragma once

#include <array>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <vector>

#include "base/async/semaphore.h"
#include "verify/remote/courier.h"
#include "verify/remote/service.h"

namespace kw::remote {

struct Item {
  Item(async::Loop& loop, Parcel given) : parcel(std::move(given)), over(loop) {}

  Parcel parcel;
  bool was_posted = false;    // possibly: it may have reached the service
  bool is_abandoned = false;  // no job waits for it
  unsigned forgotten = 0;     // number of polls in which the service did not know it
  Delivery delivery;
  async::Event over;
};
using ItemPointer = std::shared_ptr<Item>;

struct Courier::State : std::enable_shared_from_this<Courier::State> {
  State(async::Loop& on, std::shared_ptr<Api> asks, const Options& options, const ServiceInfo& facts);

  // Limits the number of ids per poll: verdicts are a few kilobytes each, and a response must stay within
  // the client's limit.
  static constexpr std::size_t most_polled = 250;
  // Concurrent cancellations: after Ctrl-C there may be many, and little time.
  static constexpr std::size_t most_cancelling = 8;

  // Each starts coroutines if there is work; they end when there is none.
  void start_posting();
  void start_watching();
  void start_cancelling();

  void settle(const ItemPointer& item, Delivery delivery);
  void fail(const ItemPointer& item, const ServiceFailure& trouble);
  // Fails the items of a coroutine that threw.
  void fail(const std::vector<ItemPointer>& items, const std::exception_ptr& thrown);
  // Fails all items in flight, after the patience has passed or an error that no retry can fix.
  void fail_all(const ServiceFailure& trouble);
  void abandon(const ItemPointer& item);
  void post_again(const ItemPointer& item);

  async::Loop& loop;
  std::shared_ptr<Api> api;
  Pace pace;
  std::size_t max_batch;
  std::size_t max_bytes;
  Link link;
  async::Stop ending;

  std::deque<ItemPointer> waiting;            // to be submitted
  std::map<std::string, ItemPointer> posted;  // by id
  std::deque<ItemPointer> unwatched;          // posted ones that no poll asks for now
  std::deque<std::string> cancelled;          // ids to cancel at the service

  bool is_posting = false;
  std::array<bool, 4> is_watching{};
  std::size_t poll_most = most_polled;  // lowered after an answer was too large
  async::Semaphore cancelling{loop, most_cancelling};
  std::optional<async::SteadyClock::time_point> full_since;  // no room since then, and none in flight
};

using StatePointer = std::shared_ptr<Courier::State>;

}  // namespace kw::remote
