// A recording may leave the order of operations open. Finds out whether a wrong result in another order is
// the candidate's fault, and which two operations it is about.
#pragma once

#include <optional>
#include <string>

#include "verify/judge/blame.h"
#include "verify/judge/player.h"

namespace kw::verify {

class RaceSearch {
 public:
  RaceSearch(Context& context, Player& player, std::uint32_t slot, const wire::LateOrderT& late)
      : context_(context), player_(player), slot_(slot), late_(late) {}

  // `wrong`: the judgement of a replay in the late order. The result depends on the order if the recorded
  // order is right and the late one wrong twice, each time on the same inputs. A device may run every
  // order that the recording allows. The error states why nothing is proven: the values differ in the
  // recorded order too, or a replay did not end.
  async::Task<Outcome<std::expected<Blame, std::string>>> blame(const wire::JudgedT& wrong);

 private:
  struct Result {
    bool right = false;
    std::vector<std::string> swapped;
  };
  using Tried = std::expected<Result, ReplayFailure>;
  async::Task<Tried> attempt(wire::Order order, std::uint64_t seed, std::uint64_t swaps = 0);
  // Why the order does not decide; empty: it does.
  async::Task<Outcome<std::string>> doubt();
  async::Task<Blame> race(const wire::JudgedT& wrong);
  async::Task<std::vector<std::string>> find_pair();

  Context& context_;
  Player& player_;
  std::uint32_t slot_;
  const wire::LateOrderT& late_;
  std::uint64_t seed_ = 0;  // of the last inputs
};

}  // namespace kw::verify
