// Handing evaluations in: those that wait together go in one request.
#include <charconv>

#include "async/spawn.h"
#include "async/within.h"
#include "remote/courier_state.h"

namespace kw::remote {
namespace {

using StatePointer = std::shared_ptr<Courier::State>;
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

// Which of them is to blame: 3 of "evaluations[3].kernel_code".
std::optional<std::size_t> blamed(const Trouble& trouble) {
  constexpr std::string_view before = "evaluations[";
  std::string_view field = trouble.field;
  if (!field.starts_with(before)) return {};
  field.remove_prefix(before.size());
  std::size_t number = 0;
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error != std::errc() || end == field.data() + field.size() || *end != ']') return {};
  return number;
}

// They were taken; false where the answer does not speak of all of them.
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

// The service has no room: for as long as nothing of ours moves, patience counts.
bool has_patience_with_fullness(Courier::State& state) {
  if (!state.posted.empty() || !state.full_since) state.full_since = async::SteadyClock::now();
  return async::ms_since(*state.full_since) < static_cast<double>(state.pace.patience.count());
}

void fail_waiting(Courier::State& state, const Trouble& trouble) {
  for (const ItemPointer& item : std::exchange(state.waiting, {})) state.fail(item, trouble);
}

// One at a time, until nothing waits.
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

  // Its end, also by an exception: what it had in hand fails, the rest is posted anew.
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

  Trouble of_others() const {
    return {.what = state_->api->name() + " acknowledges other evaluations than it was given"};
  }

  async::Task<> went_wrong(Trouble trouble) {
    using Kind = Trouble::Kind;
    // Whether an answer that did not come was never sent is not known.
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

  // All or none were taken: the one to blame goes, or they are parted until it is alone.
  void refused(const Trouble& trouble) {
    state_->link.answered();
    auto number = batch_.size() == 1 ? std::optional<std::size_t>(0) : blamed(trouble);
    if (number && *number < batch_.size()) {
      std::erase(state_->waiting, batch_[*number]);
      state_->fail(batch_[*number], trouble);
    } else {
      most_ = (batch_.size() + 1) / 2;
    }
  }

  async::Task<> was_full(std::size_t size, Trouble trouble) {
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

}  // namespace kw::remote
