// Verdicts on candidates whose recordings leave the order of operations open.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace kw::test;
using testing::HasSubstr;
using testing::StartsWith;
using wire::Body;
using wire::Order;

// A candidate whose result is wrong in some of the orders that its recordings leave open.
struct OrderWorld : VerdictWorld {
  using Wrong = std::function<bool(const wire::ReplayT&)>;

  explicit OrderWorld(Wrong wrong, std::uint32_t unjoined = 0, std::uint64_t swaps = 8,
                      const std::vector<std::uint32_t>& streams = {1}) {
    const React open = says<wire::ReplayableT>([=](auto& facts) {
      for (std::uint32_t stream : streams) {
        facts.late.push_back(std::make_unique<wire::LateOrderT>());
        facts.late.back()->stream = stream;
        facts.late.back()->swaps = swaps;
      }
      facts.unjoined = unjoined;
    });
    for (int nth : {1, 2}) fake.when("replayer", Body::LoadRecording, open, nth);
    fake.when("replayer", Body::Replay, [this, wrong](const wire::BodyUnion& asked, Reaction& usual) {
      const wire::ReplayT& how = *asked.AsReplay();
      wrong_now = wrong(how);
      if (how.order != Order::recorded) ++other_orders;
      if (how.order == Order::between && how.swaps > 0)
        usual.answer.AsReplayed()->swapped = {fmt::format("the launch of first{}", how.swaps),
                                              fmt::format("the launch of second{}", how.swaps)};
    });
    fake.when("oracle", Body::Judge, [this](const wire::BodyUnion& asked, Reaction& usual) {
      if (std::exchange(wrong_now, false)) judges_wrong()(asked, usual);
    });
  }

  bool wrong_now = false;
  int other_orders = 0;  // replays in another order than the recorded one
};

OrderWorld::Wrong from_swap(std::uint64_t first) {
  return [=](const wire::ReplayT& how) {
    return how.order == Order::late || (how.order == Order::between && how.swaps >= first);
  };
}

TEST(AnOpenOrder, ThatDoesNotMatterIsNoRace) {
  OrderWorld world([](const auto&) { return false; });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.trust, Trust::replay);
}

TEST(AnOpenOrder, ThatDecidesTheResultIsARaceOfTwoLaunches) {
  OrderWorld world(from_swap(5));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.fault, Fault::kernel);
  EXPECT_EQ(verdict.error_class, ErrorClass::race);
  EXPECT_EQ(verdict.stage, Stage::replay);
  EXPECT_EQ(
      verdict.error,
      "the launch of second5 does not wait for the launch of first5, and the result is wrong where it runs "
      "first (values differ)");
}

// One that shows the fault, two that prove it, one with all exchanges, and three of the search among eight.
TEST(AnOpenOrder, IsSearchedInFewReplays) {
  OrderWorld world(from_swap(1));
  EXPECT_THAT(world.run().error.value_or(""), StartsWith("the launch of second1 "));
  EXPECT_EQ(world.other_orders, 7);
}

TEST(AnOpenOrder, OfTooManyOperationsToSearchNamesNone) {
  OrderWorld world(from_swap(1), 0, std::uint64_t{1} << 20);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error_class, ErrorClass::race);
  EXPECT_THAT(verdict.error.value_or(""),
              StartsWith("streams and events leave the order of its 1 operations open"));
  EXPECT_EQ(world.other_orders, 3);
}

TEST(AnOpenOrder, ThatMattersInTheSecondRecordingAloneIsARace) {
  OrderWorld world([](const auto& how) { return how.slot == 1 && how.order == Order::late; });
  world.settings.correctness_trials = 3;
  EXPECT_EQ(world.run().error_class, ErrorClass::race);
}

// With two recordings the fifth replay runs the second late order of the first one.
TEST(AnOpenOrder, IsTriedForEachStream) {
  OrderWorld world(
      [](const auto& how) {
        return how.late_stream == 3 &&
               (how.order == Order::late || (how.order == Order::between && how.swaps > 0));
      },
      0, 8, {1, 3});
  world.settings.correctness_trials = 2;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error_class, ErrorClass::race);
  EXPECT_THAT(verdict.error.value_or(""), StartsWith("the launch of second1 "));
}

TEST(AnOpenOrder, WithOneWrongReplayProvesNothing) {
  int late = 0;
  OrderWorld world([&](const auto& how) { return how.order == Order::late && ++late == 1; });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.trust, Trust::in_process);
}

TEST(AnOpenOrder, ThatIsWrongAsRecordedTooProvesNothing) {
  int replays = 0;
  OrderWorld world(
      [&](const auto& how) { return how.order == Order::late || (how.slot == 0 && ++replays == 5); });
  EXPECT_NE(world.run().error_class, ErrorClass::race);
}

// Kernels that wait for a flag of each other, in an order in which the waiting one fills the device.
TEST(AnOpenOrder, ThatDoesNotEndProvesNothing) {
  OrderWorld world([](const auto&) { return false; });
  world.settings.timeout = std::chrono::milliseconds(300);
  world.fake.when("replayer", Body::Replay, [](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsReplay()->order == Order::late) usual.ending = Ending::hangs;
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.replay->why_not, "its replay does not end");
}

TEST(AnOpenOrder, ThatDoesNotEndOnceProvesNothing) {
  int late = 0;
  OrderWorld world([&](const auto& how) { return how.order == Order::late; });
  world.settings.timeout = std::chrono::milliseconds(300);
  world.fake.when("replayer", Body::Replay, [&](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsReplay()->order != Order::late || ++late != 3) return;
    usual.ending = Ending::hangs;
    world.wrong_now = false;  // it is never judged
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_THAT(verdict.replay->why_not.value_or(""), HasSubstr("its replay does not end"));
}

// Wrong as soon as the operations that nobody waits for run late.
TEST(AnOpenOrder, OfWorkThatNobodyWaitsForIsAMismatch) {
  OrderWorld world([](const auto& how) { return how.order != Order::recorded; }, 3);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error_class, ErrorClass::live_replay_mismatch);
  EXPECT_EQ(verdict.stage, Stage::replay);
  EXPECT_THAT(verdict.error.value_or(""), StartsWith("3 operations run on a stream"));
}

TEST(AnOpenOrder, OfJoinedWorkIsARaceBesideWorkThatNobodyWaitsFor) {
  OrderWorld world(from_swap(2), 3);
  EXPECT_EQ(world.run().error_class, ErrorClass::race);
}

}  // namespace
}  // namespace kw::verify
