// Verdicts by replays: the order of the work, the replays, and the findings on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <set>
#include <string>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using wire::Body;

TEST(ReplayVerdict, ARightCandidateIsReplayedTimedAndCounts) {
  VerdictWorld world;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.stage, Stage::done);
  EXPECT_EQ(verdict.trust, Trust::replay);
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(verdict.timing.instrument, "replay");
  EXPECT_DOUBLE_EQ(verdict.speedup.value_or(0), 2);
  EXPECT_DOUBLE_EQ(verdict.triton_share.value_or(0), 1);
  ASSERT_TRUE(verdict.replay);
  EXPECT_EQ(verdict.replay->recordings, 2U);
  EXPECT_EQ(verdict.comparison->trials, 6U + 5U);
  EXPECT_EQ(verdict.judged_calls, 6U);
}

// One of the calls before the recorded ones is the one of the recording of the reference.
TEST(ReplayVerdict, ACandidateCannotTellItsRecordedCallsByCounting) {
  std::set<int> numbers;
  for (int seed = 0; seed < 16; ++seed) {
    VerdictWorld world;
    world.seeds = SecretSeeds(std::to_string(seed));
    world.settings.timing_trials = 0;
    world.settings.correctness_trials = 2;
    int calls = 0;
    world.fake.when("runner", Body::Call,
                    [&](const auto& asked, auto&) { calls += !asked.AsCall()->previous; });
    world.fake.when("runner", Body::Record, [&](const auto&, auto&) { numbers.insert(calls); }, 1);
    world.run();
  }
  EXPECT_EQ(numbers, (std::set<int>{3, 4, 5, 6}));
}

// The order is guaranteed: a reference is recorded before a candidate runs, and a candidate's process has
// ended before a replayer receives its recordings.
TEST(ReplayVerdict, TheReferenceIsRecordedFirstThenTheCandidateThenBothArePlayed) {
  VerdictWorld world;
  world.settings.timing_trials = 0;
  world.settings.correctness_trials = 2;
  world.run();
  EXPECT_EQ(
      world.exchange(),
      "oracle 0 Spawn, oracle 0 Prepare, "
      "runner 0 Spawn, oracle 0 Draw, runner 0 Open, runner 0 Load, runner 0 Call, runner 0 Record, "
      "replayer 0 Spawn, oracle 0 Draw, replayer 0 LoadRecording, "
      "oracle 0 Draw, replayer 0 Replay, oracle 0 Judge, oracle 0 Draw, replayer 0 Replay, oracle 0 Judge, "
      "runner 1 Spawn, oracle 0 Draw, runner 1 Open, runner 1 Load, "
      "runner 1 Call, oracle 0 Judge, oracle 0 Draw, runner 1 Call, oracle 0 Judge, "
      "runner 1 Call, oracle 0 Judge, "
      "oracle 0 Draw, runner 1 Record, oracle 0 Judge, oracle 0 Draw, runner 1 Record, oracle 0 Judge, "
      "oracle 0 Draw, runner 1 Call, oracle 0 Judge, oracle 0 Draw, runner 1 Call, oracle 0 Judge, "
      "replayer 1 Spawn, oracle 0 Draw, replayer 1 LoadRecording, oracle 0 Draw, replayer 1 LoadRecording, "
      "oracle 0 Draw, replayer 1 Replay, oracle 0 Judge, oracle 0 Draw, replayer 1 Replay, oracle 0 Judge, "
      "oracle 0 Draw, replayer 1 Replay, oracle 0 Judge, "
      "oracle 0 Draw, replayer 1 Replay, oracle 0 Judge, oracle 0 Draw, replayer 1 Replay, oracle 0 Judge");
}

TEST(ReplayVerdict, WhatCannotBeRightIsNeverStarted) {
  VerdictWorld world;
  world.job.candidate.code = "def nothing():\n    pass\n";
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error_class, ErrorClass::missing_entry);
  EXPECT_EQ(world.exchange(), "");
}

// ---- replays

// The reference's replays are 0 and 1; the candidate's follow.
constexpr int first_replay = 2;

TEST(Replays, OtherValuesThanThoseOfTheCallsProveNothing) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, judges_wrong(), 9);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.trust, Trust::in_process);
  EXPECT_THAT(VerdictWorld::why_no_replay(verdict),
              StartsWith("its replay gives other values than its calls: values differ"));
}

TEST(Replays, AHostThatDependsOnTheDeviceIsJudgedInItsProcess) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay,
                  says<wire::ReplayedT>([](auto& facts) { facts.downloads_equal = false; }), first_replay);
  EXPECT_THAT(VerdictWorld::why_no_replay(world.run()), StartsWith("what its host does depends on"));
}

TEST(Replays, AWriteBehindAnAllocationFails) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay,
                  says<wire::ReplayedT>([](auto& facts) { facts.overrun = "8 bytes behind output 0"; }),
                  first_replay);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.error_class, ErrorClass::out_of_bounds);
  EXPECT_EQ(verdict.error, "a kernel wrote outside all allocations, 8 bytes behind output 0");
}

// The judgements before: two of the reference, two calls and the first result, two recordings, two calls.
constexpr int first_judged_replay = 9;

React digests(std::uint64_t digest) {
  return says<wire::JudgedT>([=](auto& judged) { judged.digest = digest; });
}

// Two judged replays; the others repeat the second one.
VerdictWorld& with_two_trials(VerdictWorld& world) {
  world.settings.correctness_trials = 2;
  world.settings.timing_trials = 0;
  return world;
}

constexpr int second_judged_replay = first_judged_replay + 1;
constexpr int with_other_bytes = second_judged_replay + 1;

TEST(OwnMemory, AWriteThatTheOracleFindsFails) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, says<wire::JudgedT>([](auto& judged) {
                    judged.right = false;
                    judged.error_class = "out_of_bounds";
                    judged.error = "a kernel wrote outside all tensors, 0 bytes behind input x";
                  }),
                  first_judged_replay);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.error_class, ErrorClass::out_of_bounds);
  EXPECT_THAT(verdict.error.value_or(""), HasSubstr("0 bytes behind input x"));
}

TEST(OwnMemory, IsCheckedByOneMoreReplayOnTheSameInputs) {
  VerdictWorld world;
  std::vector<wire::DrawT> draws;
  world.fake.when("oracle", Body::Draw,
                  [&](const wire::BodyUnion& asked, Reaction&) { draws.push_back(*asked.AsDraw()); });
  EXPECT_EQ(with_two_trials(world).run().status, Status::correct);
  ASSERT_GE(draws.size(), 4U);
  // The last two are those of the replays without the candidate's own launches.
  const wire::DrawT& judged = draws[draws.size() - 4];
  const wire::DrawT& again = draws[draws.size() - 3];
  EXPECT_EQ(again.seed, judged.seed);
  EXPECT_NE(again.poison_seed, judged.poison_seed);
}

TEST(OwnMemory, OtherBytesInAGapComeWithAnotherKey) {
  VerdictWorld world;
  std::vector<std::uint64_t> keys;
  world.fake.when("replayer", Body::Replay, [&](const wire::BodyUnion& asked, Reaction&) {
    keys.push_back(asked.AsReplay()->gap_key);
  });
  with_two_trials(world).run();
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
}

TEST(OwnMemory, AResultThatFollowsForeignBytesIsIncorrect) {
  VerdictWorld world;
  std::uint64_t drawn = 0;
  world.fake.when("oracle", Body::Draw,
                  [&](const wire::BodyUnion& asked, Reaction&) { drawn = asked.AsDraw()->poison_seed; });
  world.fake.when("oracle", Body::Judge, says<wire::JudgedT>([&](auto& judged) { judged.digest = drawn; }));
  const Verdict verdict = with_two_trials(world).run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error_class, ErrorClass::out_of_bounds);
  EXPECT_THAT(verdict.error.value_or(""), StartsWith("the result depends on memory"));
}

TEST(OwnMemory, AResultThatVariesAnywayProvesNothing) {
  VerdictWorld world;
  std::uint64_t number = 0;
  world.fake.when("oracle", Body::Judge,
                  says<wire::JudgedT>([&](auto& judged) { judged.digest = ++number; }));
  const Verdict verdict = with_two_trials(world).run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.trust, Trust::replay);
}

TEST(OwnMemory, AResultThatDiffersOnceProvesNothing) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, digests(7), with_other_bytes);
  EXPECT_EQ(with_two_trials(world).run().status, Status::correct);
}

TEST(Replays, OfSeveralStreamsHaveAQueueForEach) {
  VerdictWorld world;
  world.fake.when("replayer", Body::LoadRecording,
                  says<wire::ReplayableT>([](auto& facts) { facts.streams = 2; }), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.trust, Trust::replay);
  EXPECT_EQ(world.fake.count("wide replayer", Body::LoadRecording), 2);
}

TEST(Replays, ARecordingThatCouldNotBeLoadedOnceIsLoadedAgain) {
  VerdictWorld world;
  world.fake.when("replayer", Body::LoadRecording, fails("replay", "infrastructure", "no memory"), 1);
  EXPECT_EQ(world.run().trust, Trust::replay);
}

TEST(Replays, ARecordingThatCannotBeLoadedIsJudgedInItsProcess) {
  VerdictWorld world;
  for (int nth : {1, 2})
    world.fake.when("replayer", Body::LoadRecording,
                    fails("replay", "unsupported_candidate", "an address is not known"), nth);
  EXPECT_EQ(VerdictWorld::why_no_replay(world.run()), "an address is not known");
}

TEST(Replays, ALostReplayerIsOneMoreReasonWhyNot) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, dies(SIGKILL), first_replay);
  EXPECT_THAT(VerdictWorld::why_no_replay(world.run()), StartsWith("the replayer was lost: "));
}

TEST(Replays, ThatDoNotEndAreOneMoreReasonWhyNot) {
  VerdictWorld world;
  world.settings.timeout = std::chrono::milliseconds(300);
  world.fake.when("replayer", Body::Replay, ends(Ending::hangs), first_replay);
  EXPECT_EQ(VerdictWorld::why_no_replay(world.run()), "its replay does not end");
}

TEST(Replays, AReplayerThatCannotBeStartedIsOurs) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Spawn, ends(Ending::closes), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_EQ(verdict.stage, Stage::replay);
}

TEST(Replays, AnOracleThatIsLostThenIsOurs) {
  for (auto lost : {std::pair{Body::Judge, 9}, std::pair{Body::Draw, 13}}) {
    VerdictWorld world;
    world.fake.when("oracle", lost.first, dies(SIGKILL), lost.second);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.fault, Fault::infrastructure);
    EXPECT_EQ(verdict.stage, Stage::replay);
  }
}

TEST(Replays, AStopInTheMiddleIsNoVerdict) {
  VerdictWorld world;
  world.fake.when(
      "replayer", Body::Replay,
      [&](const auto&, Reaction& usual) {
        usual.ending = Ending::hangs;
        world.job_stop.request("the client left");
      },
      first_replay);
  world.run();
  EXPECT_TRUE(world.stopped);
}

TEST(Replays, OfABigTaskAreLoadedOnceTheCandidateHasEnded) {
  VerdictWorld world;
  world.fake.spec.input_bytes = std::uint64_t{1} << 31;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.trust, Trust::replay);
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 1);
}

// ---- tasks without evidence

TEST(Counting, ATaskThatAnEmptyAnswerPassesProvesNothing) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare,
                  says<wire::PreparedT>([](auto& task) { task.proves_nothing = "zeros"; }));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts_reason, CountsReason::proves_nothing);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "an empty answer passes this task: zeros"));
}

TEST(Counting, AReferenceThatDrawsIsTimedInTheOracle) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare,
                  says<wire::PreparedT>([](auto& task) { task.reference_random = true; }));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts_reason, CountsReason::nondeterministic);
  EXPECT_EQ(verdict.timing.instrument, "replay, reference by cuda-events");
  EXPECT_TRUE(VerdictWorld::finds(verdict, "cannot be replayed: it draws random numbers"));
}

}  // namespace
}  // namespace kw::verify
