// What the courier's coroutines share: those that post, that watch, and that cancel.
#pragma once

#include <array>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <vector>

#include "async/semaphore.h"
#include "remote/courier.h"
#include "remote/link.h"

namespace kw::remote {

struct Item {
  Item(async::Loop& loop, Parcel given) : parcel(std::move(given)), over(loop) {}

  Parcel parcel;
  bool was_posted = false;    // it may have reached the service
  bool is_abandoned = false;  // nobody waits for it any more
  unsigned forgotten = 0;     // how often the service did not know it
  Delivery delivery;
  async::Event over;
};
using ItemPointer = std::shared_ptr<Item>;

struct Courier::State : std::enable_shared_from_this<Courier::State> {
  State(async::Loop& on, std::shared_ptr<Api> asks, const Options& options, const Facts& facts);

  // Verdicts are a few kilobytes each, and an answer must stay within what the client takes.
  static constexpr std::size_t most_polled = 250;
  // At once: after Ctrl-C there may be many, and little time.
  static constexpr std::size_t most_cancelling = 8;

  // Each begins where there is something to do for it, and ends when there is nothing more.
  void start_posting();
  void start_watching();
  void start_cancelling();

  void settle(const ItemPointer& item, Delivery delivery);
  void fail(const ItemPointer& item, const Trouble& trouble);
  // What was in the hands of a coroutine that broke.
  void fail(const std::vector<ItemPointer>& items, const std::exception_ptr& thrown);
  // Patience is over, or no try will do: all that is under way ends.
  void fail_all(const Trouble& trouble);
  void abandon(const ItemPointer& item);
  void post_again(const ItemPointer& item);

  async::Loop& loop;
  std::shared_ptr<Api> api;
  Pace pace;
  std::size_t max_batch;
  std::size_t max_bytes;
  Link link;
  async::Stop ending;

  std::deque<ItemPointer> waiting;            // for the post
  std::map<std::string, ItemPointer> posted;  // by id
  std::deque<ItemPointer> unwatched;          // of the posted ones: those that no poll asks for now
  std::deque<std::string> cancelled;          // ids of which the service does not know yet

  bool is_posting = false;
  std::array<bool, 4> is_watching{};
  std::size_t poll_most = most_polled;  // fewer where an answer was too large
  async::Semaphore cancelling{loop, most_cancelling};
  std::optional<async::SteadyClock::time_point> full_since;  // nothing of ours has moved since then
};

}  // namespace kw::remote
