// The origin of the replayed launches, and whether the result needs them.
#include <gtest/gtest.h>
#include <signal.h>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

React launches(std::string name, std::string cubin) {
  return says<wire::ReplayableT>([=](auto& facts) {
    facts.launches[0]->name = name;
    facts.launches[0]->cubin_sha256 = cubin;
  });
}

TEST(Decoys, ARightResultWithoutOnesOwnLaunchesDoesNotCount) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, [](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsJudge()->outputs_only) usual.answer.AsJudged()->right = true;
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts_reason, CountsReason::decoy);
}

React without_launches(React react) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    if (!asked.AsReplay()->skip.empty()) react(asked, usual);
  };
}

TEST(Decoys, AFaultWithoutOnesOwnLaunchesSaysNothing) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, without_launches(fails("replay", "infrastructure", "fault")));
  EXPECT_EQ(world.run().counts, true);
}

TEST(Decoys, AStopWhileTheyAreLookedForIsNoVerdict) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, without_launches([&](const auto&, Reaction& usual) {
                    usual.ending = Ending::hangs;
                    world.job_stop.request("the client left");
                  }));
  world.run();
  EXPECT_TRUE(world.stopped);
}

TEST(Decoys, LibraryLaunchesAloneDoNotCount) {
  VerdictWorld world;
  for (int nth : {1, 2}) world.fake.when("replayer", Body::LoadRecording, launches("at6native_x", "f"), nth);
  EXPECT_EQ(world.run().counts_reason, CountsReason::library_only);
}

TEST(Decoys, ARecordingWithoutLaunchesHasNoneToTime) {
  VerdictWorld world;
  for (int nth : {1, 2})
    world.fake.when("replayer", Body::LoadRecording,
                    says<wire::ReplayableT>([](auto& facts) { facts.launches.clear(); }), nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
  EXPECT_FALSE(verdict.triton_share);
}

std::string first_launch_is(VerdictWorld& world) {
  const Verdict verdict = world.run();
  return verdict.launches && !verdict.launches->empty() ? verdict.launches->front().whose.value_or("")
                                                        : "none";
}

TEST(Broker, AttestsWhatItCompiles) {
  VerdictWorld world;
  EXPECT_EQ(first_launch_is(world), "candidate");
}

TEST(Broker, AttestsNothingWhereItIsNotThere) {
  VerdictWorld world;
  world.start_servers();
  world.servers.broker.reset();
  EXPECT_EQ(first_launch_is(world), "unattested");
}

TEST(Broker, AttestsNothingWhereItCannotBeStarted) {
  VerdictWorld world;
  world.fake.when("broker", Body::Spawn, ends(Ending::closes));
  EXPECT_EQ(first_launch_is(world), "unattested");
}

TEST(Broker, AttestsNothingWhereItFails) {
  VerdictWorld world;
  world.fake.when("broker", Body::Attest, fails("compile", "infrastructure", "no"));
  EXPECT_EQ(first_launch_is(world), "unattested");
}

TEST(Broker, ThatAnswersLateIsWaitedFor) {
  VerdictWorld world;
  world.fake.when("broker", Body::Attest, waits(std::chrono::milliseconds(300)));
  EXPECT_EQ(first_launch_is(world), "candidate");
}

TEST(Launches, ThatCannotBeTimedOneByOneAreOurs) {
  VerdictWorld world;
  world.fake.when("replayer", Body::Replay, [](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsReplay()->each_launch) dies(SIGKILL)(asked, usual);
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_FALSE(verdict.speedup);
}

TEST(Launches, OfCodeOfItsOwnAreUnattested) {
  VerdictWorld world;
  world.fake.when("runner", Body::Call, says<wire::ReturnedT>([](auto& call) { call.native_code = true; }));
  for (int nth : {1, 2}) world.fake.when("replayer", Body::LoadRecording, launches("mine", "f"), nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "unattested");
  EXPECT_EQ(verdict.counts, true);
}

// The reference of the first task launches "shared", that of the second something else.
TEST(Launches, OfAnotherTasksReferenceAreNoLibrarys) {
  VerdictWorld world;
  std::string of_reference = "shared";
  world.fake.when("runner", Body::Call, says<wire::ReturnedT>([](auto& call) { call.native_code = true; }));
  world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([&](auto& facts) {
                    const bool is_reference = facts.launches[0]->name == "at6native_add";
                    facts.launches[0]->name = "mine";
                    facts.launches[0]->cubin_sha256 = is_reference ? of_reference : "shared";
                  }));
  EXPECT_EQ(first_launch_is(world), "library");
  world.job.task.reference_code = "class Model:\n    other = 1\n";
  of_reference = "another";
  EXPECT_EQ(first_launch_is(world), "unattested");
}

}  // namespace
}  // namespace kw::verify
