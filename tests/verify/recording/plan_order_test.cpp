// The other order, and plans of many steps.
#include <gtest/gtest.h>

#include <chrono>

#include "world.h"

namespace kw::recording {
namespace {

using testing::ElementsAre;

TEST(Reversed, IsTheRecordedOrderOfAChain) {
  World world;
  for (int i = 0; i < 3; ++i) world.launch();
  EXPECT_THAT(reversed(world.planned()), ElementsAre(0, 1, 2));
}

TEST(Reversed, TurnsIndependentStreamsRound) {
  World world;
  world.launch(0);
  world.launch(1);
  world.record(1, 1);
  world.launch(2);
  world.record(2, 2);
  world.wait(0, 1);
  world.wait(0, 2);
  world.launch(0);
  EXPECT_THAT(reversed(world.planned()), ElementsAre(2, 1, 0, 3));
}

TEST(Reversed, PutsWhatNobodyWaitsForLast) {
  World world;
  world.launch(0);
  world.launch(0);
  world.launch(1);
  world.launch(1);
  EXPECT_THAT(reversed(world.planned()), ElementsAre(0, 1, 2, 3));
}

TEST(Reversed, KeepsWhatTheHostWaitedForBefore) {
  World world;
  world.launch(1);
  world.host_waits(HostWaits::device);
  world.launch(2);
  world.host_waits(HostWaits::device);
  EXPECT_THAT(reversed(world.planned()), ElementsAre(0, 1));
}

// Every step comes once, after its predecessors by stream and dependency.
void expect_valid(const Plan& plan) {
  std::vector<std::size_t> place(plan.steps.size(), plan.steps.size());
  std::vector<std::size_t> order = reversed(plan);
  ASSERT_EQ(order.size(), plan.steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<std::size_t> last(max_streams, plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (last[step.stream] < i) EXPECT_LT(place[last[step.stream]], place[i]);
    for (std::size_t earlier : step.after) EXPECT_LT(place[earlier], place[i]);
    last[step.stream] = i;
  }
}

TEST(Reversed, IsValidForStreamsThatWaitForOneAnother) {
  World world;
  for (std::uint32_t i = 0; i < 300; ++i) {
    world.launch(i % 4);
    world.record(i % 4, i % 7);
    world.wait(i * 5 % 4, i * 3 % 7);
  }
  expect_valid(world.planned());
}

TEST(Plan, OfManyStepsIsQuick) {
  World world;
  while (world.recording.streams.size() < max_streams) {
    world.recording.streams.push_back(std::make_unique<StreamT>());
    world.recording.streams.back()->blocking = true;
  }
  // Every other step is on the legacy default stream, which all others wait for and which waits for them.
  for (std::uint32_t i = 0; world.recording.operations.size() < max_operations; ++i)
    world.add(i % 2 == 0 ? 0 : 3 + i / 2 % 61, EventRecordT());
  for (auto& operation : world.recording.operations) operation->work.Set(CopyT());
  auto begin = std::chrono::steady_clock::now();
  Plan plan = world.planned();
  expect_valid(plan);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(plan.steps.size(), max_operations);
}

}  // namespace
}  // namespace kw::recording
