// The order of a replay's operations.
#include <gtest/gtest.h>

#include "replayer_world.h"

namespace kw::replayer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::Order;

// Sets on stream 0, adds on stream 1, multiplies on stream 0 again, each after the one before.
void make_fork(ReplayWorld& world) {
  world.launch("set", heap, 2, 2);
  world.world.record(2, 7);
  world.world.wait(1, 7);
  world.launch("add", heap, 3, 1);
  world.world.record(1, 8);
  world.world.wait(2, 8);
  world.launch("times", heap, 4, 2);
  world.world.record(2, 9);
  world.world.wait(0, 9);
  world.add_output(heap);
}

// Two launches without an order between them; the caller waits for both.
void make_open(ReplayWorld& world) {
  world.launch("set", heap, 1, 1);
  world.launch("add", heap + 64, 1, 2);
  world.world.host_waits(recording::HostWaits::device);
}

// The caller does not wait for the second's stream, and it writes to the same word.
void make_race(ReplayWorld& world) {
  world.launch("set", heap, 1, 0);
  world.world.record(0, 7);
  world.world.wait(1, 7);
  world.launch("times", heap, 5, 1);
  world.add_output(heap);
}

TEST(ReplayOrder, EventsBecomeDependenciesBetweenStreams) {
  ReplayWorld world;
  make_fork(world);
  world.loaded();
  world.replayed();
  EXPECT_EQ(world.output(), 20U);
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "add", "times"));
}

TEST(ReplayOrder, RepeatsComeOneAfterAnother) {
  ReplayWorld world;
  make_fork(world);
  world.loaded();
  wire::ReplayT twice;
  twice.repeats = 2;
  world.replayed(twice);
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "add", "times", "set", "add", "times"));
}

TEST(ReplayOrder, ALaunchLeftOutStillOrdersTheOthers) {
  ReplayWorld world;
  make_fork(world);
  world.loaded();
  wire::ReplayT without;
  without.skip = {1};
  world.replayed(without);
  EXPECT_EQ(world.output(), 8U);
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "times"));
}

TEST(ReplayOrder, NothingRunsWhereEveryLaunchIsLeftOut) {
  ReplayWorld world;
  make_fork(world);
  world.loaded();
  world.poison(11);
  wire::ReplayT without;
  without.skip = {0, 1, 2};
  world.replayed(without);
  EXPECT_EQ(world.output(), 11U);
  EXPECT_THAT(world.driver.ran, IsEmpty());
}

TEST(ReplayOrder, AChainHasOneOrder) {
  ReplayWorld world;
  make_fork(world);
  EXPECT_THAT(world.loaded().late, IsEmpty());
}

TEST(ReplayOrder, ALaunchIsToldWithItsStreamAndItsOperation) {
  ReplayWorld world;
  make_race(world);
  const wire::ReplayableT facts = world.loaded();
  ASSERT_EQ(facts.launches.size(), 2U);
  EXPECT_EQ(facts.launch_count, 2U);
  EXPECT_EQ(facts.launches[0]->stream, 0);
  EXPECT_EQ(facts.launches[1]->stream, 1);
  EXPECT_LT(facts.launches[0]->operation, facts.launches[1]->operation);
}

TEST(ReplayOrder, AForkHasALateOrder) {
  ReplayWorld world;
  make_open(world);
  const wire::ReplayableT facts = world.loaded();
  ASSERT_EQ(facts.late.size(), 1U);
  EXPECT_EQ(facts.late[0]->stream, 1U);
}

wire::ReplayT late(std::uint32_t stream) {
  wire::ReplayT how = in_order(Order::late);
  how.late_stream = stream;
  return how;
}

// The caller reads after the first of two streams, and waits for the second one behind that.
TEST(ReplayOrder, LateRunsAStreamBehindAReaderThatWaitsForAnother) {
  ReplayWorld world;
  world.launch("set", heap, 1, 1);
  world.launch("add", heap + 64, 1, 2);
  world.world.record(1, 7);
  world.world.wait(0, 7);
  world.launch("times", heap, 4, 0);
  world.world.record(2, 8);
  world.world.wait(0, 8);
  world.loaded();
  world.replayed(late(2));
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "times", "add"));
}

TEST(ReplayOrder, SerialIsTheRecordedOrderAndLateTheOther) {
  ReplayWorld world;
  make_open(world);
  world.loaded();
  world.replayed(in_order(Order::serial));
  world.replayed(late(1));
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "add", "add", "set"));
}

// Two streams that write the same word; the caller waits for both.
void make_two_writers(ReplayWorld& world) {
  world.launch("set", heap, 1, 1);
  world.launch("add", heap, 1, 2);
  world.world.host_waits(recording::HostWaits::device);
  world.add_output(heap);
}

wire::ReplayT between(std::uint64_t swaps) {
  wire::ReplayT how = in_order(Order::between);
  how.late_stream = 1;
  how.swaps = swaps;
  return how;
}

TEST(ReplayOrder, BetweenTheTwoNamesTheLastExchange) {
  ReplayWorld world;
  make_two_writers(world);
  const wire::ReplayableT facts = world.loaded();
  ASSERT_EQ(facts.late.size(), 1U);
  EXPECT_EQ(facts.late[0]->swaps, 1U);
  EXPECT_THAT(world.replayed(between(0)).swapped, IsEmpty());
  EXPECT_THAT(world.replayed(between(1)).swapped, ElementsAre("the launch of set (operation 0, stream 1)",
                                                              "the launch of add (operation 1, stream 2)"));
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "add", "add", "set"));
}

// A kernel that waits for a flag which the other stream's kernel sets.
void make_flag(ReplayWorld& world) {
  world.launch("set", heap, 1, 1);
  world.launch("add", heap, 1, 2);
  world.driver.kernels["add"].waits = [](fake::Run& run) {
    std::uint32_t word = 0;
    run.memory.read(run.parameters[0], &word, sizeof word);
    return word != 1;
  };
  world.world.host_waits(recording::HostWaits::device);
  world.add_output(heap);
}

TEST(ReplayOrder, LateLetsAKernelWaitForAFlagOfAnotherStream) {
  ReplayWorld world;
  make_flag(world);
  world.loaded();
  world.replayed(late(1));
  EXPECT_EQ(world.output(), 2U);
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "add"));
}

TEST(ReplayOrder, LateKeepsWhatEventsOrder) {
  ReplayWorld world;
  make_fork(world);
  world.loaded();
  world.replayed(late(1));
  EXPECT_EQ(world.output(), 20U);
}

TEST(ReplayOrder, WhatNobodyWaitsForIsToldAndTimedInTheRecordedOrder) {
  ReplayWorld world;
  make_race(world);
  EXPECT_EQ(world.loaded().unjoined, 1U);
  world.replayed();
  EXPECT_EQ(world.output(), 5U);
}

TEST(ReplayOrder, WhatNobodyWaitsForRunsAfterTheOutputsWereTakenInALateOrder) {
  ReplayWorld world;
  make_race(world);
  world.loaded();
  world.replayed(late(1));
  EXPECT_EQ(world.output(), 1U);
  EXPECT_THAT(world.driver.ran, ElementsAre("set", "times"));
}

}  // namespace
}  // namespace kw::replayer
