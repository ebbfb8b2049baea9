// The origin of the replayed launches, and whether the result needs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "kernels_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

React launches(std::string name, std::string cubin, std::uint64_t code = 0) {
  return says<wire::ReplayableT>([=](auto& facts) {
    facts.launches[0]->name = name;
    facts.launches[0]->cubin_sha256 = cubin;
    facts.launches[0]->code = code;
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

// The candidate's result is right without its launches; zeros are right in its place until the nth such
// replay.
struct ZerosAreRight : VerdictWorld {
  explicit ZerosAreRight(int until) {
    fake.zeros_are_right = true;
    fake.when("oracle", Body::Judge, [](const wire::BodyUnion& asked, Reaction& usual) {
      if (asked.AsJudge()->outputs_only) usual.answer.AsJudged()->right = true;
    });
    fake.when("replayer", Body::Replay, [this, until](const wire::BodyUnion& asked, Reaction&) {
      if (!asked.AsReplay()->skip.empty() && ++without == until) fake.zeros_are_right = false;
    });
  }
  int without = 0;
};

TEST(Decoys, AreProvedByInputsOnWhichZerosAreWrong) {
  ZerosAreRight world(3);
  EXPECT_EQ(world.run().counts_reason, CountsReason::decoy);
  EXPECT_EQ(world.without, 3);
}

TEST(Decoys, AreNotProvedWhereZerosAreRight) {
  ZerosAreRight world(1000);
  EXPECT_EQ(world.run().counts, true);
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
  for (int nth : {1, 2})
    world.fake.when("replayer", Body::LoadRecording, launches("x", "f", library_code), nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "library");
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
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

TEST(Broker, IsAskedForTheCubinsOfAllRecordings) {
  VerdictWorld world;
  std::vector<std::string> wanted;
  world.fake.when("replayer", Body::LoadRecording, launches("second", "f00d"), 2);
  world.fake.when("broker", Body::Attest,
                  [&](const wire::BodyUnion& asked, Reaction&) { wanted = asked.AsAttest()->wanted; });
  world.run();
  EXPECT_THAT(wanted, ::testing::ElementsAre("c0ffee", "f00d"));
}

React attests(std::vector<std::string> own, std::vector<std::string> brought) {
  return says<wire::AttestedT>([=](auto& answer) {
    answer.sha256 = own;
    answer.brought = brought;
  });
}

TEST(Broker, MakesALibrarysOfWhatWasBrought) {
  VerdictWorld world;
  world.fake.when("broker", Body::Attest, attests({}, {"c0ffee"}));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "library");
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
}

TEST(Broker, IsNeededForTheNameOfAJittedFunctionToo) {
  VerdictWorld world;
  world.fake.when("broker", Body::Attest, attests({}, {}));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "unattested");
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
}

TEST(Broker, WhoseAbsenceIsNoFaultOfTheKernel) {
  VerdictWorld absent;
  absent.start_servers();
  absent.servers.broker.reset();
  VerdictWorld closed;
  closed.fake.when("broker", Body::Spawn, ends(Ending::closes));
  for (VerdictWorld* world : {&absent, &closed}) {
    const Verdict verdict = world->run();
    EXPECT_EQ(verdict.fault, Fault::infrastructure);
    EXPECT_THAT(verdict.error.value_or(""), ::testing::HasSubstr("the compile broker could not be started"));
    EXPECT_FALSE(verdict.speedup);
  }
}

// The candidate's own IR may end it.
TEST(Broker, ThatFailsAttestsNothing) {
  for (const React& failing :
       {fails("compile", "infrastructure", "no"), dies(SIGSEGV), ends(Ending::closes)}) {
    VerdictWorld world;
    world.fake.when("broker", Body::Attest, failing);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.launches->front().whose, "unattested");
    EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
    EXPECT_TRUE(VerdictWorld::finds(verdict, "no kernel could be attested"));
  }
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

TEST(Launches, OfCodeOfItsOwnAreUnattestedAndCount) {
  VerdictWorld world;
  builds_native_code(world);
  for (int nth : {1, 2}) world.fake.when("replayer", Body::LoadRecording, launches("mine", "f"), nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "unattested");
  EXPECT_EQ(verdict.counts, true);
}

TEST(Launches, NamedLikeALibrarysAreOwnCodeWhereTheSourceDefinesThem) {
  VerdictWorld world;
  builds_native_code(world);
  world.job.candidate.code += "S = '__global__ void gemv_rows(float* x) {}'\n";
  for (int nth : {1, 2})
    world.fake.when("replayer", Body::LoadRecording, launches("_Z9gemv_rowsPf", "f", library_code + 1), nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "unattested");
  EXPECT_EQ(verdict.counts, true);
}

TEST(Launches, OfTheCensusAreALibrarysBesideNativeCodeWhateverTheirName) {
  VerdictWorld world;
  builds_native_code(world);
  for (int nth : {1, 2})
    world.fake.when("replayer", Body::LoadRecording, launches("mine", "f", library_code), nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.launches->front().whose, "library");
  EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
}

TEST(Launches, WithoutACensusNativeCodeIsNotJudged) {
  VerdictWorld world;
  builds_native_code(world);
  for (int nth : {1, 2})
    world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](auto& facts) {
                      facts.compute_capability = 61;
                      facts.launches[0]->cubin_sha256 = "f";
                    }),
                    nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_THAT(verdict.error.value_or(""), ::testing::HasSubstr("the census of library kernels is missing"));
  EXPECT_FALSE(verdict.speedup);
}

TEST(Launches, ThatAreAllAttestedNeedNoCensus) {
  VerdictWorld world;
  builds_native_code(world);
  world.fake.when("replayer", Body::LoadRecording,
                  says<wire::ReplayableT>([](auto& facts) { facts.compute_capability = 61; }));
  EXPECT_EQ(world.run().counts, true);
}

TEST(Launches, OfUnknownCodeCountOnlyWhereNativeCodeIsInTheSourceAndWasBuilt) {
  VerdictWorld claims;
  claims.fake.when("runner", Body::Call, says<wire::ReturnedT>([](auto& call) { call.native_code = true; }));
  VerdictWorld mentions;
  mentions.job.candidate.code += "from torch.utils.cpp_extension import load_inline\nload_inline('m', CPP)\n";
  for (VerdictWorld* world : {&claims, &mentions}) {
    for (int nth : {1, 2}) world->fake.when("replayer", Body::LoadRecording, launches("mine", "f"), nth);
    const Verdict verdict = world->run();
    EXPECT_EQ(verdict.launches->front().whose, "unattested");
    EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
  }
}

// The reference of the first task launches "shared", that of the second something else.
TEST(Launches, OfAnotherTasksReferenceAreNoLibrarys) {
  VerdictWorld world;
  std::string of_reference = "shared";
  builds_native_code(world);
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

// ---- of the second recording

TEST(Recordings, OneWithoutOwnLaunchesDoesNotCount) {
  for (int nth : {1, 2}) {
    VerdictWorld world;
    world.fake.when("replayer", Body::LoadRecording, launches("x", "f", library_code), nth);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.counts_reason, CountsReason::library_only);
    EXPECT_EQ(verdict.launches->front().name, "x");
    EXPECT_DOUBLE_EQ(verdict.triton_share.value_or(-1), 0);
  }
}

TEST(Recordings, OneWithDecoysDoesNotCount) {
  for (std::uint32_t slot : {0U, 1U}) {
    VerdictWorld world;
    std::uint32_t last = 0;
    bool skipped = false;
    world.fake.when("replayer", Body::Replay, [&](const wire::BodyUnion& asked, Reaction&) {
      last = asked.AsReplay()->slot;
      skipped = !asked.AsReplay()->skip.empty();
    });
    world.fake.when("oracle", Body::Judge, [&](const wire::BodyUnion&, Reaction& usual) {
      if (skipped && last == slot) usual.answer.AsJudged()->right = true;
    });
    EXPECT_EQ(world.run().counts_reason, CountsReason::decoy) << slot;
  }
}

// A launch that is neither own nor known stays, so that a decoy beside it is one.
TEST(Recordings, OnlyOwnLaunchesAreLeftOut) {
  VerdictWorld world;
  std::vector<std::uint32_t> skipped;
  for (int nth : {1, 2})
    world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](auto& facts) {
                      for (const char* cubin : {"f00d", "c0ffee"}) {
                        auto& added =
                            facts.launches.emplace_back(std::make_unique<wire::LaunchT>(*facts.launches[0]));
                        added->cubin_sha256 = cubin;
                      }
                      facts.launches[0]->cubin_sha256 = "f";
                    }),
                    nth);
  world.fake.when("replayer", Body::Replay, [&](const wire::BodyUnion& asked, Reaction&) {
    if (!asked.AsReplay()->skip.empty()) skipped = asked.AsReplay()->skip;
  });
  EXPECT_EQ(world.run().counts, true);
  EXPECT_THAT(skipped, ::testing::ElementsAre(2));
}

}  // namespace
}  // namespace kw::verify
