#include "verify/remote/courier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "verify/remote/courier_state.h"

namespace kw::remote {

using namespace std::chrono_literals;

namespace {

// Bytes of a request's body that are reserved for the JSON around the evaluations.
constexpr std::size_t envelope_bytes = 1024;
constexpr auto end_limit = 5s;

}  // namespace

Courier::State::State(async::Loop& on, std::shared_ptr<Api> asks, const Options& options,
                      const ServiceInfo& facts)
    : loop(on),
      api(std::move(asks)),
      pace(options.pace),
      max_batch(facts.max_batch),
      max_bytes(std::max(facts.max_body_bytes, 2 * envelope_bytes) - envelope_bytes),
      link({api->name(), options.pace.patience, options.say}),
      ending(on) {}

void Courier::State::settle(const ItemPointer& item, Delivery delivery) {
  if (item->over.is_set()) return;
  posted.erase(item->parcel.id);
  full_since.reset();
  delivery.was_over = item->delivery.was_over;
  item->delivery = std::move(delivery);
  item->over.set();
}

void Courier::State::fail(const ItemPointer& item, const ServiceFailure& trouble) {
  settle(item, {.end = Delivery::End::failed, .said = {}, .trouble = trouble});
}

void Courier::State::fail(const std::vector<ItemPointer>& items, const std::exception_ptr& thrown) {
  for (const ItemPointer& item : items)
    fail(item, {.what = fmt::format("cannot send a request to {}: {}", api->name(), async::what_of(thrown))});
}

void Courier::State::fail_all(const ServiceFailure& trouble) {
  auto waited = std::exchange(waiting, {});
  auto under_way = std::exchange(posted, {});
  unwatched.clear();
  for (const ItemPointer& item : waited) fail(item, trouble);
  for (const auto& [id, item] : under_way) fail(item, trouble);
}

void Courier::State::abandon(const ItemPointer& item) {
  item->is_abandoned = true;
  std::erase(waiting, item);
  posted.erase(item->parcel.id);
  if (!item->was_posted || ending.requested()) return;
  cancelled.push_back(item->parcel.id);
  start_cancelling();
}

void Courier::State::post_again(const ItemPointer& item) {
  posted.erase(item->parcel.id);
  waiting.push_back(item);
  start_posting();
}

Courier::Courier(async::Loop& loop, std::shared_ptr<Api> api, const Options& options,
                 const ServiceInfo& facts)
    : state_(std::make_shared<State>(loop, std::move(api), options, facts)) {}

Courier::~Courier() {
  state_->ending.request("the verifier ended");
}

async::Task<Delivery> Courier::carry(Parcel parcel, async::Stop& stop) {
  auto state = state_;
  auto item = std::make_shared<Item>(state->loop, std::move(parcel));
  state->waiting.push_back(item);
  state->start_posting();
  co_await async::within(async::Deadline::never(), &stop, item->over.wait());
  if (item->over.is_set()) co_return std::move(item->delivery);
  state->abandon(item);
  co_return Delivery{.end = Delivery::End::stopped, .said = {}, .trouble = {}};
}

async::Task<> Courier::end() {
  auto state = state_;
  auto deadline = async::Deadline::in(end_limit);
  while ((!state->cancelled.empty() || state->cancelling.taken() > 0) && !deadline.passed())
    co_await async::sleep_until(async::Deadline::in(10ms));
  state->ending.request("the verifier ended");
}

}  // namespace kw::remote
