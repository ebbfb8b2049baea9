// The late orders, and plans of many steps.
#include <gtest/gtest.h>

#include <chrono>

#include "world.h"

namespace kw::recording {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Late, HasNoStreamInAChain) {
  World world;
  for (int i = 0; i < 3; ++i) world.launch();
  EXPECT_THAT(late(world.planned(), 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(late_streams(world.planned()), IsEmpty());
}

TEST(Late, RunsAStreamAfterAllOthers) {
  World world;
  world.launch(0);
  world.launch(1);
  world.record(1, 1);
  world.launch(2);
  world.record(2, 2);
  world.wait(0, 1);
  world.wait(0, 2);
  world.launch(0);
  EXPECT_THAT(late(world.planned(), 0), ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(late(world.planned(), 1), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(late(world.planned(), 2), ElementsAre(0, 1, 2, 3));  // as recorded
  EXPECT_THAT(late_streams(world.planned()), ElementsAre(0, 1));
}

// The caller waits for 1, and for 2 only behind its own last step, which may so run before or after the step
// of 2.
TEST(Late, RunsAStreamAfterAReaderThatWaitsForAnother) {
  World world;
  world.launch(1);
  world.launch(2);
  world.record(1, 1);
  world.wait(0, 1);
  world.launch(0);
  world.record(2, 2);
  world.wait(0, 2);
  EXPECT_THAT(late(world.planned(), 2), ElementsAre(0, 2, 1));
  EXPECT_THAT(late_streams(world.planned()), Contains(2));
}

TEST(Late, PutsWhatNobodyWaitsForLast) {
  World world;
  world.launch(0);
  world.launch(0);
  world.launch(1);
  world.launch(1);
  EXPECT_THAT(late(world.planned(), 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(late_streams(world.planned()), ElementsAre(0));  // its steps end before the outputs are read
}

TEST(Late, KeepsWhatTheHostWaitedForBefore) {
  World world;
  world.launch(1);
  world.host_waits(HostWaits::device);
  world.launch(2);
  world.host_waits(HostWaits::device);
  EXPECT_THAT(late(world.planned(), 1), ElementsAre(0, 1));
}

TEST(Late, HasAtMostSoManyStreams) {
  World world;
  while (world.recording.streams.size() < 2 * most_late)
    world.recording.streams.push_back(std::make_unique<StreamT>());
  for (std::uint32_t stream = 1; stream < 2 * most_late; ++stream) world.launch(stream);
  world.host_waits(HostWaits::device);
  EXPECT_EQ(late_streams(world.planned()).size(), most_late);
}

// The place of each step in the late order of a stream.
std::vector<std::size_t> places(const Plan& plan, std::size_t stream) {
  std::vector<std::size_t> place(plan.steps.size(), plan.steps.size());
  const std::vector<std::size_t> order = late(plan, stream);
  EXPECT_EQ(order.size(), plan.steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  return place;
}

// Every step comes once, after its predecessors by stream and dependency.
void expect_valid(const Plan& plan, std::size_t stream) {
  const std::vector<std::size_t> place = places(plan, stream);
  std::vector<std::size_t> last(max_streams, plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (last[step.stream] < i) EXPECT_LT(place[last[step.stream]], place[i]);
    for (std::size_t earlier : step.after) EXPECT_LT(place[earlier], place[i]);
    last[step.stream] = i;
  }
}

World streams_that_wait_for_one_another() {
  World world;
  for (std::uint32_t i = 0; i < 300; ++i) {
    world.launch(i % 4);
    world.record(i % 4, i % 7);
    world.wait(i * 5 % 4, i * 3 % 7);
  }
  world.host_waits(HostWaits::device);
  return world;
}

TEST(Late, IsValidForStreamsThatWaitForOneAnother) {
  const Plan plan = streams_that_wait_for_one_another().planned();
  for (std::size_t stream = 0; stream < 4; ++stream) expect_valid(plan, stream);
}

// By step: the steps that it follows, directly or not.
std::vector<std::vector<bool>> predecessors(const Plan& plan) {
  std::vector<std::vector<bool>> before(plan.steps.size(), std::vector<bool>(plan.steps.size()));
  auto follow = [&](std::size_t step, std::size_t earlier) {
    before[step][earlier] = true;
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      if (before[earlier][i]) before[step][i] = true;
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (std::size_t earlier = 0; earlier < i; ++earlier)
      if (plan.steps[earlier].stream == plan.steps[i].stream) follow(i, earlier);
    for (std::size_t earlier : plan.steps[i].after) follow(i, earlier);
  }
  return before;
}

TEST(Late, RunsEachStepBehindEveryStepOfAnotherStreamThatNeedNotFollowIt) {
  const Plan plan = streams_that_wait_for_one_another().planned();
  ASSERT_TRUE(plan.open);
  const auto before = predecessors(plan);
  for (std::size_t stream = 0; stream < 4; ++stream) {
    const std::vector<std::size_t> place = places(plan, stream);
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      for (std::size_t other = 0; other < plan.steps.size(); ++other)
        if (plan.steps[i].stream == stream && plan.steps[other].stream != stream && !before[other][i])
          EXPECT_LT(place[other], place[i]);
  }
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
  expect_valid(plan, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(plan.steps.size(), max_operations);
}

}  // namespace
}  // namespace kw::recording
