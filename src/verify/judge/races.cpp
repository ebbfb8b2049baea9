#include "verify/judge/races.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/core/text.h"
#include "verify/judge/context.h"
#include "verify/judge/oracle_side.h"

namespace kw::verify {
namespace {

constexpr int input_sets = 2;
constexpr int most_steps_of_search = 12;

// The result is wrong if operations that the caller's stream does not wait for run late.
Blame unjoined(std::size_t operations, const wire::JudgedT& wrong) {
  Blame blame = blame_result(wrong);
  blame.stage = Stage::replay;
  blame.error_class = ErrorClass::live_replay_mismatch;
  blame.error = fmt::format(
      "{} operations run on a stream that the caller's stream never waits for, and the result needs them: "
      "whoever reads it may come too early ({})",
      operations, blame.error);
  return blame;
}

}  // namespace

async::Task<RaceSearch::Tried> RaceSearch::attempt(wire::Order order, std::uint64_t seed,
                                                   std::uint64_t swaps) {
  wire::ReplayT how;
  how.slot = slot_;
  how.order = order;
  how.late_stream = late_.stream;
  how.swaps = swaps;
  auto played = co_await player_.play_on(std::move(how), {seed, call_seed(seed)});
  if (!played) co_return std::unexpected(std::move(played.error()));
  auto judged = co_await player_.judge(*played);
  if (!judged) co_return std::unexpected(std::move(judged.error()));
  co_return Result{judged->right, std::move(played->facts.swapped)};
}

async::Task<Outcome<std::string>> RaceSearch::doubt() {
  for (int set = 0; set < input_sets; ++set) {
    seed_ = context_.seeds.next();
    for (wire::Order order : {wire::Order::recorded, wire::Order::late}) {
      auto tried = co_await attempt(order, seed_);
      if (!tried) co_return words_of(tried.error());
      if (tried->right != (order == wire::Order::recorded)) co_return "equal replays give different results";
    }
  }
  co_return std::string{};
}

async::Task<Outcome<std::expected<Blame, std::string>>> RaceSearch::blame(const wire::JudgedT& wrong) {
  using Answer = std::expected<Blame, std::string>;
  auto doubted = co_await doubt();
  if (!doubted) co_return std::unexpected(doubted.error());
  if (!doubted->empty()) co_return Answer(std::unexpected(std::move(*doubted)));
  if (const std::size_t count = player_.facts(slot_).unjoined; count > 0) {
    // Without an exchange only the unjoined operations run at another time than in the call.
    auto late = co_await attempt(wire::Order::between, seed_);
    if (!late) {
      auto words = words_of(late.error());
      if (!words) co_return std::unexpected(words.error());
      co_return Answer(std::unexpected(std::move(*words)));
    }
    if (!late->right) co_return Answer(unjoined(count, wrong));
  }
  co_return Answer(co_await race(wrong));
}

// A binary search among the orders between the recorded one, which is right, and the late one, which is
// wrong. The last exchange of the first wrong order made the result wrong. A failed replay ends the search.
async::Task<std::vector<std::string>> RaceSearch::find_pair() {
  std::uint64_t right = 0;
  std::uint64_t wrong = late_.swaps;
  std::vector<std::string> pair;
  if (std::bit_width(wrong) > most_steps_of_search) co_return pair;
  if (wrong > 0) {
    auto tried = co_await attempt(wire::Order::between, seed_, wrong);
    if (!tried || tried->right) co_return pair;
    pair = std::move(tried->swapped);
  }
  while (wrong - right > 1) {
    const std::uint64_t middle = right + (wrong - right) / 2;
    auto tried = co_await attempt(wire::Order::between, seed_, middle);
    if (!tried) co_return std::vector<std::string>{};
    (tried->right ? right : wrong) = middle;
    if (!tried->right) pair = std::move(tried->swapped);
  }
  co_return pair;
}

async::Task<Blame> RaceSearch::race(const wire::JudgedT& wrong) {
  Blame blame = blame_result(wrong);
  blame.stage = Stage::replay;
  blame.error_class = ErrorClass::race;
  const std::vector<std::string> pair = co_await find_pair();
  if (pair.size() == 2)
    blame.error = fmt::format("{} does not wait for {}, and the result is wrong where it runs first ({})",
                              to_plain_text(pair[1]), to_plain_text(pair[0]), blame.error);
  else
    blame.error = fmt::format(
        "streams and events leave the order of its {} operations open, and the result is wrong in another "
        "order "
        "than that of the call ({})",
        player_.facts(slot_).operations, blame.error);
  co_return blame;
}

}  // namespace kw::verify
