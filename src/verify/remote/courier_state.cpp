#include "verify/remote/courier_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/async/loop.h"
#include "base/async/wait.h"

namespace kw::remote {
namespace {

// Submits evaluations: those that wait together share a request.

using Batch = std::vector<ItemPointer>;

Batch take_batch(Courier::State& state, std::size_t most) {
  Batch batch;
  std::size_t bytes = 0;
  while (!state.waiting.empty() && batch.size() < most) {
    ItemPointer& next = state.waiting.front();
    bytes += next->parcel.bytes + 1;
    if (!batch.empty() && bytes > state.max_bytes) break;
    batch.push_back(std::move(next));
    state.waiting.pop_front();
  }
  return batch;
}

boost::json::array bodies(const Batch& batch) {
  boost::json::array evaluations;
  for (const ItemPointer& item : batch) evaluations.emplace_back(item->parcel.body);
  return evaluations;
}

void put_back(Courier::State& state, const Batch& batch) {
  for (auto item = batch.rbegin(); item != batch.rend(); ++item)
    if (!(*item)->is_abandoned && !(*item)->over.is_set()) state.waiting.push_front(*item);
}

// The index of the refused evaluation: 3 of "evaluations[3].kernel_code".
std::optional<std::size_t> blamed(const ServiceFailure& trouble) {
  constexpr std::string_view before = "evaluations[";
  std::string_view field = trouble.field;
  if (!field.starts_with(before)) return {};
  field.remove_prefix(before.size());
  std::size_t number = 0;
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error != std::errc() || end == field.data() + field.size() || *end != ']') return {};
  return number;
}

// Marks the batch as posted. Returns false if the answer does not list all of its ids.
bool take_receipts(Courier::State& state, const Batch& batch, const std::vector<Standing>& receipts) {
  std::map<std::string_view, const Standing*> by_id;
  for (const Standing& receipt : receipts) by_id[receipt.id] = &receipt;
  for (const ItemPointer& item : batch)
    if (!by_id.contains(item->parcel.id)) return false;
  for (const ItemPointer& item : batch) {
    bool is_first = !std::exchange(item->was_posted, true);
    if (item->is_abandoned) {
      state.cancelled.push_back(item->parcel.id);
    } else if (!item->over.is_set()) {
      if (is_first) item->delivery.was_over = by_id.at(item->parcel.id)->is_over();
      state.posted[item->parcel.id] = item;
      state.unwatched.push_back(item);
    }
  }
  state.full_since.reset();
  state.start_watching();
  state.start_cancelling();
  return true;
}

// For a service without room: the patience runs only while none of this program's evaluations are posted.
bool has_patience_with_fullness(Courier::State& state) {
  if (!state.posted.empty() || !state.full_since) state.full_since = async::SteadyClock::now();
  return async::ms_since(*state.full_since) < static_cast<double>(state.pace.patience.count());
}

void fail_waiting(Courier::State& state, const ServiceFailure& trouble) {
  for (const ItemPointer& item : std::exchange(state.waiting, {})) state.fail(item, trouble);
}

// Submits one batch at a time, until no evaluation waits.
class Poster {
 public:
  explicit Poster(StatePointer state)
      : state_(std::move(state)), most_(state_->max_batch), backoff_(state_->pace.backoff) {}

  async::Task<> run() {
    while (!state_->waiting.empty() && !state_->ending.requested()) {
      batch_ = take_batch(*state_, most_);
      auto answer = co_await state_->api->submit(bodies(batch_), state_->ending);
      if (answer && take_receipts(*state_, batch_, *answer))
        went_well();
      else
        co_await went_wrong(answer ? of_others() : answer.error());
    }
  }

  // Called at the end. After an exception its batch fails, and a new poster submits the rest.
  void ended(const std::exception_ptr& thrown) {
    state_->is_posting = false;
    if (thrown) {
      for (const ItemPointer& item : batch_) std::erase(state_->waiting, item);
      state_->fail(batch_, thrown);
    }
    state_->start_posting();
  }

 private:
  void went_well() {
    state_->link.answered();
    backoff_ = http::Backoff(state_->pace.backoff);
    most_ = std::min(2 * most_, state_->max_batch);
  }

  ServiceFailure of_others() const {
    return {.what = state_->api->name() + " acknowledges evaluations that it was not sent"};
  }

  async::Task<> went_wrong(ServiceFailure trouble) {
    using Kind = ServiceFailure::Kind;
    // Without an answer the service may still have taken the batch.
    if (trouble.kind == Kind::away || trouble.kind == Kind::stopped)
      for (const ItemPointer& item : batch_) note_possible(item);
    put_back(*state_, batch_);
    if (trouble.kind == Kind::refused || trouble.kind == Kind::too_large) co_return refused(trouble);
    if (trouble.kind == Kind::full) co_return co_await was_full(batch_.size(), trouble);
    if (trouble.kind == Kind::locked || !co_await state_->link.bear(trouble, backoff_, state_->ending))
      state_->fail_all(trouble);
  }

  void note_possible(const ItemPointer& item) {
    item->was_posted = true;
    if (!item->is_abandoned) return;
    state_->cancelled.push_back(item->parcel.id);
    state_->start_cancelling();
  }

  // The service takes all of a batch or none: the refused one fails, or batches are halved until it is alone.
  void refused(const ServiceFailure& trouble) {
    state_->link.answered();
    auto number = batch_.size() == 1 ? std::optional<std::size_t>(0) : blamed(trouble);
    if (number && *number < batch_.size()) {
      std::erase(state_->waiting, batch_[*number]);
      state_->fail(batch_[*number], trouble);
    } else {
      most_ = (batch_.size() + 1) / 2;
    }
  }

  async::Task<> was_full(std::size_t size, ServiceFailure trouble) {
    state_->link.answered();
    if (size > 1) {
      most_ = size / 2;
    } else if (has_patience_with_fullness(*state_)) {
      std::mt19937_64 random{std::random_device{}()};
      co_await async::pause(backoff_.next(trouble.retry_after, random), state_->ending);
    } else {
      fail_waiting(*state_, trouble);
    }
  }

  StatePointer state_;
  std::size_t most_;
  http::Backoff backoff_;
  Batch batch_;
};

}  // namespace

void Courier::State::start_posting() {
  if (waiting.empty() || ending.requested() || std::exchange(is_posting, true)) return;
  auto poster = std::make_shared<Poster>(shared_from_this());
  async::spawn(loop, poster->run(), [poster](const std::exception_ptr& thrown) { poster->ended(thrown); });
}

namespace {

// Polls the state of evaluations: a few polls at a time, each for evaluations that no other poll contains.

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// A service that loses an evaluation more often than this keeps none.
constexpr unsigned most_forgotten = 5;
// The pauses between polls that return early without news.
constexpr http::BackoffOptions idle_pace{20ms, 2'000ms};

// False for evaluations that ended, were abandoned or wait for another submission: they are not polled.
bool is_posted(const Courier::State& state, const ItemPointer& item) {
  auto known = state.posted.find(item->parcel.id);
  return known != state.posted.end() && known->second == item;
}

std::vector<ItemPointer> take_unwatched(Courier::State& state) {
  std::vector<ItemPointer> items;
  while (!state.unwatched.empty() && items.size() < state.poll_most) {
    ItemPointer item = std::move(state.unwatched.front());
    state.unwatched.pop_front();
    if (is_posted(state, item)) items.push_back(std::move(item));
  }
  return items;
}

class Watcher {
 public:
  Watcher(StatePointer state, std::size_t place)
      : state_(std::move(state)),
        place_(place),
        wait_(wait_at(place, state_->pace.poll)),
        backoff_(state_->pace.backoff),
        idle_(idle_pace) {}

  // Called at the end. After an exception the evaluations that it polled for fail.
  void ended(const std::exception_ptr& thrown) {
    state_->is_watching.at(place_) = false;
    if (thrown) state_->fail(items_, thrown);
    state_->start_watching();
  }

  async::Task<> run() {
    while (!state_->ending.requested()) {
      items_ = take_unwatched(*state_);
      if (items_.empty()) break;
      std::vector<std::string> ids;
      for (const ItemPointer& item : items_) ids.push_back(item->parcel.id);
      auto began = async::SteadyClock::now();
      auto answer = co_await state_->api->poll(std::move(ids), wait_, state_->ending);
      std::size_t settled = answer ? take(std::move(*answer)) : 0;
      for (const ItemPointer& item : items_)
        if (is_posted(*state_, item)) state_->unwatched.push_back(item);
      if (!answer)
        co_await went_wrong(answer.error());
      else
        co_await went_well(settled > 0 || async::ms_since(began) >= 0.9 * static_cast<double>(wait_.count()));
    }
  }

 private:
  // The number of this program's evaluations that ended or were lost. Other evaluations are ignored.
  std::size_t take(std::vector<Standing> standings) {
    std::size_t settled = 0;
    for (Standing& standing : standings) {
      auto found = state_->posted.find(standing.id);
      if (found == state_->posted.end()) continue;
      ItemPointer item = found->second;
      if (standing.is_over())
        state_->settle(item,
                       {.end = standing.state == "done" ? Delivery::End::done : Delivery::End::cancelled,
                        .said = std::move(standing.said),
                        .trouble = {}});
      else if (standing.state != "unknown")
        continue;
      else if (++item->forgotten > most_forgotten)
        state_->fail(
            item,
            {.what = fmt::format("{} lost the evaluation {} times", state_->api->name(), item->forgotten),
             .remedy = "check that its store persists, and that only one service answers at this address"});
      else
        state_->post_again(item);
      ++settled;
    }
    return settled;
  }

  async::Task<> went_well(bool is_in_order) {
    state_->link.answered();
    backoff_ = http::Backoff(state_->pace.backoff);
    if (is_in_order) {
      idle_ = http::Backoff(idle_pace);
      state_->poll_most = std::min(2 * state_->poll_most, Courier::State::most_polled);
    } else {
      co_await async::pause(idle_.next({}, random_), state_->ending);
    }
  }

  async::Task<> went_wrong(ServiceFailure trouble) {
    if (trouble.kind == ServiceFailure::Kind::too_large) {
      state_->link.answered();
      if (items_.size() == 1) state_->fail(items_.front(), trouble);
      state_->poll_most = std::max<std::size_t>(items_.size() / 2, 1);
    } else if (trouble.kind == ServiceFailure::Kind::locked ||
               !co_await state_->link.bear(trouble, backoff_, state_->ending)) {
      state_->fail_all(trouble);
    }
  }

  // The wait of the watcher at this place. Evaluations that are posted later go to the next free watcher,
  // which waits less and so includes new ones sooner.
  static milliseconds wait_at(std::size_t place, milliseconds wait) {
    for (std::size_t i = 0; i < place; ++i) wait /= 3;
    return wait;
  }

  StatePointer state_;
  std::size_t place_;
  milliseconds wait_;
  http::Backoff backoff_;
  http::Backoff idle_;
  std::mt19937_64 random_{std::random_device{}()};
  std::vector<ItemPointer> items_;
};

}  // namespace

void Courier::State::start_watching() {
  if (unwatched.empty() || ending.requested()) return;
  auto* free = std::ranges::find(is_watching, false);
  if (free == is_watching.end()) return;
  *free = true;
  auto watcher =
      std::make_shared<Watcher>(shared_from_this(), static_cast<std::size_t>(free - is_watching.begin()));
  async::spawn(loop, watcher->run(), [watcher](const std::exception_ptr& thrown) { watcher->ended(thrown); });
}

namespace {

// Cancels evaluations at the service that no job waits for.

// Each is sent once: if the request fails, the service only judges in vain.
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
