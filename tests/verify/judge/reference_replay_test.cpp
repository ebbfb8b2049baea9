// The reference: recorded once, kept with its oracle, and timed by events where it cannot be replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "verdict_world.h"
#include "verify/judge/protocol.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

constexpr const char* by_events = "replay, reference by cuda-events";

TEST(Reference, OfTheSameTaskIsReplayedWhereItLies) {
  VerdictWorld world;
  world.run();
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.timing.instrument, "replay");
  EXPECT_EQ(world.fake.count("runner", Body::Load), 3);
  EXPECT_EQ(world.fake.count("replayer", Body::Spawn), 3);
}

TEST(Reference, OfAnotherTaskHasAReplayerOfItsOwn) {
  VerdictWorld world;
  world.run();
  world.job.task.reference_code = "class Model:\n    other = 1\n";
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.timing.instrument, "replay");
  EXPECT_EQ(world.fake.count("runner", Body::Load), 4);
  EXPECT_EQ(world.fake.count("replayer", Body::Spawn), 4);
}

TEST(Reference, ThatIsKnownIsNotRecordedAgainForAnotherOracle) {
  VerdictWorld world;
  world.settings.timing_trials = 0;
  world.run();
  world.end_idle_oracles();
  world.run();
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 2);
  EXPECT_EQ(world.fake.count("runner", Body::Load), 3);
}

TEST(Reference, OfSeveralStreamsHasAQueueForEach) {
  VerdictWorld world;
  world.fake.when("replayer", Body::LoadRecording,
                  says<wire::ReplayableT>([](auto& facts) { facts.streams = 2; }), 0);
  EXPECT_EQ(world.run().timing.instrument, "replay");
  EXPECT_EQ(world.fake.count("wide replayer", Body::LoadRecording), 1);
}

TEST(Reference, OfSeveralOrdersIsCheckedInTwo) {
  VerdictWorld world;
  world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](auto& facts) {
                    facts.late.push_back(std::make_unique<wire::LateOrderT>());
                  }),
                  0);
  bool late = false;
  world.fake.when(
      "replayer", Body::Replay,
      [&](const wire::BodyUnion& asked, Reaction&) { late = asked.AsReplay()->order == wire::Order::late; },
      1);
  world.run();
  EXPECT_TRUE(late);
}

TEST(Reference, WithMuchStateIsForThisCandidateOnly) {
  VerdictWorld world;
  world.fake.when("runner", Body::Record,
                  says<wire::RecordedT>([](auto& facts) { facts.state_bytes = std::uint64_t{1} << 30; }), 0);
  world.run();
  EXPECT_EQ(world.tapes.find(task_key(world.job.task, world.settings, 0)), nullptr);
}

TEST(Reference, WhoseStateComesAlongIsReplayedWithIt) {
  VerdictWorld world;
  world.fake.when(
      "runner", Body::Record,
      [](const auto&, Reaction& usual) { usual.fds.push_back(memory_file("state", "state").value()); }, 0);
  EXPECT_EQ(world.run().timing.instrument, "replay");
}

// The messages to an oracle that prepared this task.
wire::PrepareT prepared_as(const std::string& name, const std::string& reference,
                           const std::string& shapes = "") {
  VerdictWorld world;
  wire::PrepareT request;
  world.fake.when("oracle", Body::Prepare,
                  [&](const wire::BodyUnion& asked, Reaction&) { request = *asked.AsPrepare(); });
  world.job.task.task_id = name;
  world.job.task.reference_code = reference;
  world.job.task.input_shapes = shapes;
  world.run();
  return request;
}

TEST(Preparation, DependsOnTheTasksTextAndNotOnItsName) {
  const auto one = prepared_as("one", "class Model: pass");
  const auto two = prepared_as("two", "class Model: pass");
  EXPECT_EQ(one.task_key, two.task_key);
  EXPECT_EQ(one.init_seed, two.init_seed);
  EXPECT_EQ(one.certificate_seeds, two.certificate_seeds);
}

TEST(Preparation, OfAnotherTextUnderTheSameNameIsAnother) {
  const auto one = prepared_as("one", "class Model: pass", "[1]");
  for (const auto& other :
       {prepared_as("one", "class Model: x = 1", "[1]"), prepared_as("one", "class Model: pass", "[2]")}) {
    EXPECT_NE(one.task_key, other.task_key);
    EXPECT_NE(one.init_seed, other.init_seed);
    EXPECT_NE(one.certificate_seeds, other.certificate_seeds);
  }
}

TEST(Reference, IsRecordedOnceUnderTwoNames) {
  VerdictWorld world;
  world.run();
  world.job.task.task_id = "another name";
  EXPECT_EQ(world.run().timing.instrument, "replay");
  EXPECT_EQ(world.fake.count("runner", Body::Load), 3);
}

struct Obstacle {
  const char* name;
  const char* role;
  Body message;
  int nth;
  React react;
  const char* why;
};

class Unreplayable : public ::testing::TestWithParam<Obstacle> {};

TEST_P(Unreplayable, IsTimedInTheOracleAndSaysWhy) {
  const Obstacle& obstacle = GetParam();
  VerdictWorld world;
  world.fake.when(obstacle.role, obstacle.message, obstacle.react, obstacle.nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.timing.instrument, by_events);
  EXPECT_TRUE(VerdictWorld::finds(verdict, obstacle.why)) << verdict.comparison->findings.back();
}

const React infrastructure = fails("replay", "infrastructure", "no memory");

INSTANTIATE_TEST_SUITE_P(
    Reference, Unreplayable,
    ::testing::Values(
        Obstacle{"NoProcess", "runner", Body::Spawn, 0, ends(Ending::closes),
                 "no process for it could be started"},
        Obstacle{"NoInputs", "oracle", Body::Draw, 0, fails("prepare", "infrastructure", "no inputs"),
                 "no inputs"},
        Obstacle{"NotLoaded", "runner", Body::Load, 0, fails("import", "import_error", "not loaded"),
                 "not loaded"},
        Obstacle{"NotCalled", "runner", Body::Call, 0, dies(SIGKILL), "its process was lost: "},
        Obstacle{"NotRecorded", "runner", Body::Record, 0,
                 fails("record", "unsupported_candidate", "a graph"), "a graph"},
        Obstacle{"OnTheHost", "runner", Body::Record, 0,
                 says<wire::RecordedT>([](auto& facts) { facts.outputs->tensor->device = "cpu"; }),
                 "lies on the host"},
        Obstacle{"NoReplayer", "replayer", Body::Spawn, 0, ends(Ending::closes), "fork server lost a child"},
        Obstacle{"NotAdded", "replayer", Body::LoadRecording, 0, infrastructure, "no memory"},
        Obstacle{"NotPlayed", "replayer", Body::Replay, 0, infrastructure, "no memory"},
        Obstacle{"DependsOnTheDevice", "replayer", Body::Replay, 0,
                 says<wire::ReplayedT>([](auto& facts) { facts.downloads_equal = false; }),
                 "depends on the inputs"},
        Obstacle{"NotJudged", "oracle", Body::Judge, 0, fails("judge", "infrastructure", "not judged"),
                 "not judged"},
        Obstacle{"OtherValues", "oracle", Body::Judge, 1, judges_wrong(),
                 "its replay gives other values: values differ"},
        Obstacle{"LostWhileTimed", "replayer", Body::Replay, 10, dies(SIGKILL), "the replayer was lost: "}),
    [](const auto& info) { return info.param.name; });

TEST(Reference, ThatIsStoppedIsNotThoughtUnreplayable) {
  VerdictWorld world;
  world.fake.when(
      "runner", Body::Load,
      [&](const auto&, Reaction& usual) {
        usual.ending = Ending::hangs;
        world.job_stop.request("the client left");
      },
      0);
  world.run();
  EXPECT_TRUE(world.stopped);
  EXPECT_EQ(world.tapes.find(task_key(world.job.task, world.settings, 0)), nullptr);
}

TEST(Reference, ThatCannotBeTimedByEventsEitherIsTheTasks) {
  VerdictWorld world;
  world.fake.when("runner", Body::Record, fails("record", "unsupported_candidate", "a graph"), 0);
  world.fake.when("oracle", Body::TimeReference, fails("time", "runtime_error", "it raised"));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::task);
  EXPECT_EQ(verdict.stage, Stage::time);
}

// ---- under torch.compile

struct CompiledWorld : VerdictWorld {
  CompiledWorld() { settings.compile_baseline = true; }
};

TEST(Compiled, IsTimedBesideTheReference) {
  CompiledWorld world;
  const Verdict verdict = world.run();
  EXPECT_DOUBLE_EQ(verdict.timing.compile_time_ms.value_or(0), 0.16);
}

TEST(Compiled, IsRecordedOnceATask) {
  CompiledWorld world;
  world.run();
  EXPECT_TRUE(world.run().timing.compile_time_ms);
  EXPECT_EQ(world.fake.count("runner", Body::Load), 4);
}

TEST(Compiled, ThatCannotBeRecordedIsAFinding) {
  CompiledWorld world;
  world.fake.when("runner", Body::Load, fails("import", "compile_error", "no backend"), 2);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "torch.compile of the reference was not timed: no backend"));
}

TEST(Compiled, ThatCannotBeReplayedIsAFinding) {
  CompiledWorld world;
  world.fake.when("replayer", Body::LoadRecording, infrastructure, 3);
  EXPECT_TRUE(VerdictWorld::finds(world.run(), "was not timed: no memory"));
}

TEST(Compiled, ThatBreaksWhileItIsTimedIsAFinding) {
  CompiledWorld world;
  int replays = 0;
  bool compiled = false;
  world.fake.when("replayer", Body::LoadRecording, [&](const auto&, Reaction&) { compiled = true; }, 3);
  world.fake.when("replayer", Body::Replay, [&](const auto& asked, Reaction& usual) {
    if (compiled && replays++ == 3) infrastructure(asked, usual);
  });
  EXPECT_TRUE(VerdictWorld::finds(world.run(), "its replay broke while it was timed"));
}

TEST(Compiled, ThatIsStoppedLeavesNoWord) {
  CompiledWorld world;
  world.fake.when(
      "runner", Body::Load,
      [&](const auto&, Reaction& usual) {
        usual.ending = Ending::hangs;
        world.job_stop.request("the client left");
      },
      2);
  world.run();
  EXPECT_EQ(world.tapes.find(task_key(world.job.task, world.settings, 0) + "+compile"), nullptr);
}

}  // namespace
}  // namespace kw::verify
