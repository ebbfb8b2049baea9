// Asking how evaluations stand: a few polls at a time, each for those that no other asks for.
#include <fmt/format.h>

#include <algorithm>

#include "async/spawn.h"
#include "async/within.h"
#include "remote/courier_state.h"

namespace kw::remote {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using StatePointer = std::shared_ptr<Courier::State>;

// A service that forgets an evaluation so often keeps none.
constexpr unsigned most_forgotten = 5;
// Between polls that come back early and bring nothing.
constexpr http::BackoffOptions idle_pace{20ms, 2'000ms};

// Those that ended, were abandoned or are to be handed in again are asked for no more.
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

  // Its end, also by an exception: what it asked for is nobody's matter then.
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
  // How many of ours are over or gone; anything said of others is no matter of ours.
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
        state_->fail(item, {.what = fmt::format("{} forgot the evaluation {} times", state_->api->name(),
                                                item->forgotten),
                            .remedy = "see whether its store is kept, and whether several answer for one"});
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

  async::Task<> went_wrong(Trouble trouble) {
    if (trouble.kind == Trouble::Kind::too_large) {
      state_->link.answered();
      if (items_.size() == 1) state_->fail(items_.front(), trouble);
      state_->poll_most = std::max<std::size_t>(items_.size() / 2, 1);
    } else if (trouble.kind == Trouble::Kind::locked ||
               !co_await state_->link.bear(trouble, backoff_, state_->ending)) {
      state_->fail_all(trouble);
    }
  }

  // What is handed in later is asked for by another: those look again sooner, and take it along.
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

}  // namespace kw::remote
