// --inputs varied: a right result counts only if it is right on inputs unlike the task's own, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/async/wait.h"
#include "support/run_task.h"
#include "verdict_world.h"
#include "verify/judge/varied_inputs.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using wire::Body;

// A task with three families, of which `shifted_8` is only reported.
struct VariedWorld : VerdictWorld {
  explicit VariedWorld(Device device) : VerdictWorld(device) {
    settings.varied_inputs = true;
    fake.when("oracle", Body::Prepare,
              says<wire::PreparedT>([](auto& task) { task.families = {"given", "scaled_60", "shifted_8"}; }));
    fake.when("oracle", Body::Draw, [](const auto& asked, Reaction& usual) {
      const std::string& family = asked.AsDraw()->family;
      auto& drawn = *static_cast<wire::DrawnT*>(usual.answer.value);
      if (family.empty()) return;
      drawn.description = "x: " + family;
      drawn.reported_only = family == "shifted_8";
    });
  }

  // The next `times` results on this family are wrong; -1: all.
  void is_wrong_on(const std::string& family, int times = -1) {
    fake.when("oracle", Body::Judge, [family, times, seen = 0](const auto& asked, Reaction& usual) mutable {
      if (asked.AsJudge()->family != family || (times >= 0 && seen++ >= times)) return;
      judges_wrong()(asked, usual);
    });
  }

  void drops(const std::string& family, const std::string& why) {
    fake.when("oracle", Body::Draw, [=](const auto& asked, Reaction& usual) {
      if (asked.AsDraw()->family != family) return;
      static_cast<wire::DrawnT*>(usual.answer.value)->dropped = why;
      usual.fds.clear();
    });
  }
};

FamilyTrial trial(const Verdict& verdict, std::size_t at) {
  if (!verdict.generality || verdict.generality->families.size() <= at) return {.family = "none"};
  return verdict.generality->families[at];
}

class VariedInputs : public testing::TestWithParam<Path> {
 protected:
  VariedInputs() : world(GetParam() == Path::cpu ? Device::cpu : Device::cuda) {
    world.settings.replay = GetParam() == Path::replay;
  }
  VariedWorld world;
};

INSTANTIATE_TEST_SUITE_P(OnAllPaths, VariedInputs,
                         testing::Values(Path::cpu, Path::replay, Path::in_process));

TEST_P(VariedInputs, HoldForAGeneralKernel) {
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, true);
  ASSERT_TRUE(verdict.generality);
  EXPECT_EQ(verdict.generality->families.size(), 3U);
  for (std::size_t at : {0U, 1U, 2U}) EXPECT_EQ(trial(verdict, at).outcome, FamilyOutcome::held) << at;
  EXPECT_EQ(trial(verdict, 1).inputs, "x: scaled_60");
}

TEST(VariedInputsOfABigTask, AreTriedWithoutTheReplaysOfItsReference) {
  VariedWorld world(Device::cuda);
  world.fake.spec.input_bytes = std::uint64_t{2} << 30;
  const Verdict verdict = world.run();
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::held);
  EXPECT_TRUE(verdict.speedup);
  EXPECT_EQ(world.fake.count("replayer", Body::LoadRecording),
            4);  // two of the candidate, the reference's twice
}

TEST(VariedInputsOfABigTask, AreTheFirstAndOneThatIsDrawn) {
  VariedWorld world(Device::cuda);
  world.settings.timing_trials = 0;
  world.fake.spec.input_bytes = std::uint64_t{2} << 30;
  world.fake.when("oracle", Body::Prepare, says<wire::PreparedT>([](auto& task) {
                    task.families = {"given", "scaled_60", "a", "b", "c", "d", "e", "f"};
                  }));
  std::set<std::string> drawn;
  for (int run = 0; run < 24; ++run) {
    const Verdict verdict = world.run();
    EXPECT_EQ(trial(verdict, 0).family, "given");
    EXPECT_EQ(trial(verdict, 1).family, "scaled_60");
    EXPECT_EQ(trial(verdict, 2).family, "a");
    EXPECT_EQ(trial(verdict, 3).outcome, FamilyOutcome::held);
    EXPECT_EQ(trial(verdict, 4).outcome, FamilyOutcome::untried);
    ASSERT_EQ(verdict.generality->families.size(), 8U);
    drawn.insert(trial(verdict, 3).family);
  }
  EXPECT_GT(drawn.size(), 2U);
}

TEST(VariedInputsOfABigTask, WhoseReferenceIsNotLoadedAgainLeaveItsTimesToTheOracle) {
  VariedWorld world(Device::cuda);
  world.fake.spec.input_bytes = std::uint64_t{2} << 30;
  world.fake.when("replayer", Body::LoadRecording, fails("replay", "out_of_memory", "no memory"), 3);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::held);
  EXPECT_GT(world.fake.count("oracle", Body::TimeReference), 0);
}

TEST_P(VariedInputs, ThatFailTwiceMakeAResultNotCount) {
  world.is_wrong_on("scaled_60");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, false);
  EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
  EXPECT_FALSE(verdict.fault);
  EXPECT_EQ(trial(verdict, 0).outcome, FamilyOutcome::held);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::failed);
  EXPECT_EQ(trial(verdict, 1).why, "values differ");
}

TEST_P(VariedInputs, ThatFailOnceAreNotCountedAgainst) {
  world.is_wrong_on("scaled_60", 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::untried);
}

TEST_P(VariedInputs, OfTwoFamiliesThatFailOnceEachMakeAResultNotCount) {
  world.is_wrong_on("given", 1);
  world.is_wrong_on("scaled_60", 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
  EXPECT_EQ(trial(verdict, 0).outcome, FamilyOutcome::untried);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::failed);
  EXPECT_EQ(trial(verdict, 1).why, "wrong on one of two draws, as on the family given: values differ");
}

TEST_P(VariedInputs, ThatAreOnlyReportedAndFailOnceChangeNothing) {
  world.is_wrong_on("scaled_60", 1);
  world.is_wrong_on("shifted_8", 1);
  EXPECT_EQ(world.run().counts, true);
}

TEST_P(VariedInputs, ThatAreOnlyReportedAreNotCountedAgainst) {
  world.is_wrong_on("shifted_8");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(trial(verdict, 2).outcome, FamilyOutcome::failed);
  EXPECT_TRUE(trial(verdict, 2).reported_only);
}

TEST_P(VariedInputs, OnWhichTheReferenceIsUnsoundAreDropped) {
  world.drops("scaled_60", "its outputs are not finite");
  world.is_wrong_on("scaled_60");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::dropped);
  EXPECT_EQ(trial(verdict, 1).why, "its outputs are not finite");
  EXPECT_EQ(trial(verdict, 2).outcome, FamilyOutcome::held);
}

TEST_P(VariedInputs, AreNotTriedUnlessAskedFor) {
  world.settings.varied_inputs = false;
  world.is_wrong_on("scaled_60");
  bool asked = false;
  world.fake.when("oracle", Body::Prepare,
                  [&](const auto& request, Reaction&) { asked = asked || request.AsPrepare()->varied; });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_FALSE(verdict.generality);
  EXPECT_FALSE(asked);
}

TEST_P(VariedInputs, AreNotTriedOnAWrongResult) {
  world.fake.when("oracle", Body::Judge, judges_wrong());
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_FALSE(verdict.generality);
}

// The reference may break its process on inputs that its task never draws. Another try leaves them out.
TEST_P(VariedInputs, ThatCostTheOracleItsProcessAreNobodysFault) {
  world.fake.when("oracle", Body::Draw, [](const auto& asked, Reaction& usual) {
    if (asked.AsDraw()->family == "scaled_60") usual.ending = Ending::dies;
  });
  const Verdict lost = world.run();
  EXPECT_EQ(lost.status, Status::error);
  EXPECT_EQ(lost.fault, Fault::infrastructure);
  EXPECT_FALSE(lost.generality);
  world.earlier.oracles_lost = 1;
  const Verdict again = world.run();
  EXPECT_EQ(again.status, Status::correct);
  EXPECT_EQ(again.counts, true);
  EXPECT_FALSE(again.generality);
}

// Reacts to what the candidate is asked while the inputs of `scaled_60` are in the arena.
void when_scaled(VariedWorld& world, const std::string& role, Body message, React react) {
  auto scaled = std::make_shared<bool>(false);
  world.fake.when("oracle", Body::Draw, [scaled](const auto& asked, Reaction&) {
    *scaled = asked.AsDraw()->family == "scaled_60";
  });
  world.fake.when(role, message, [scaled, react](const auto& asked, Reaction& usual) {
    if (*scaled) react(asked, usual);
  });
}

void make_calls_short(VariedWorld& world) {
  world.settings.replay = false;
  world.settings.timeout = 200ms;
  world.context.interpreted_call_limit = 100ms;
}

// A broken call on a GPU replays nothing more, so the other paths alone tell a failed call from one that was
// not made.
TEST(VariedCalls, ThatRaiseOnTwoDrawsMakeAResultNotCount) {
  for (Device device : {Device::cpu, Device::cuda}) {
    VariedWorld world(device);
    world.settings.replay = false;
    when_scaled(world, "runner", Body::Call, fails("run", "runtime_error", "it raised"));
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, Status::correct);
    EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
    EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::failed);
    EXPECT_THAT(trial(verdict, 1).why.value_or(""), testing::HasSubstr("it raised"));
    EXPECT_EQ(trial(verdict, 2).outcome, FamilyOutcome::held);
  }
}

TEST(VariedCalls, ThatDoNotEndOnTwoDrawsMakeAResultNotCount) {
  for (Device device : {Device::cpu, Device::cuda})
    for (bool in_launch : {false, true}) {
      VariedWorld world(device);
      make_calls_short(world);
      when_scaled(world, "runner", Body::Call, [=](const auto&, Reaction& usual) {
        usual.ending = Ending::hangs;
        usual.in_launch = in_launch;
      });
      const Verdict verdict = world.run();
      EXPECT_EQ(verdict.status, Status::correct);
      EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
      EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::failed);
      EXPECT_EQ(trial(verdict, 2).outcome, FamilyOutcome::untried);
      EXPECT_THAT(trial(verdict, 2).why.value_or(""), testing::HasSubstr("scaled_60"));
    }
}

// The time of a call may depend on the values.
TEST(VariedCalls, ThatEndWithMoreTimeHold) {
  VariedWorld world(Device::cpu);
  make_calls_short(world);
  int calls = 0;
  when_scaled(world, "runner", Body::Call, [&](const auto&, Reaction& usual) {
    if (calls++ == 0) usual.ending = Ending::hangs;
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::held);
  EXPECT_EQ(calls, 2);
}

// A failure there is only reported, so it gets no more time, and the families behind it are tried.
TEST(VariedCalls, ThatDoNotEndOnAReportedFamilyGetNoMoreTime) {
  VariedWorld world(Device::cpu);
  make_calls_short(world);
  world.fake.when("oracle", Body::Draw, [](const auto& asked, Reaction& usual) {
    if (asked.AsDraw()->family == "scaled_60")
      static_cast<wire::DrawnT*>(usual.answer.value)->reported_only = true;
  });
  int calls = 0;
  when_scaled(world, "runner", Body::Call, [&](const auto&, Reaction& usual) {
    ++calls;
    usual.ending = Ending::hangs;
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::untried);
  EXPECT_EQ(trial(verdict, 2).outcome, FamilyOutcome::held);
  EXPECT_EQ(calls, 1);
}

TEST(VariedCalls, ThatUseAnUnsupportedFeatureSkipTheCandidate) {
  VariedWorld world(Device::cpu);
  world.job.candidate.code += "\ny = tl.inline_asm_elementwise(x)\n";
  when_scaled(world, "runner", Body::Call,
              fails("run", "unsupported_candidate", "cannot be run without a GPU: inline PTX"));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::skipped);
  EXPECT_EQ(verdict.error_class, ErrorClass::unsupported_candidate);
  EXPECT_NE(verdict.counts, true);
  EXPECT_THAT(verdict.error.value_or(""), testing::HasSubstr("scaled_60"));
}

// A candidate could hide there: it may bind itself to a CPU that others use.
TEST(VariedCalls, ThatNeighboursMayHaveBrokenAreMadeAgainAlone) {
  for (bool alone : {false, true}) {
    VariedWorld world(Device::cuda);
    world.settings.replay = false;
    world.earlier.is_alone = alone;
    when_scaled(world, "runner", Body::Call, fails("run", "out_of_memory", "CUDA out of memory"));
    const Verdict verdict = world.run();
    EXPECT_EQ(world.result.doubt.empty(), alone);
    if (alone) EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
  }
}

TEST(VariedReplays, ThatBreakTheReplayerOnTwoDrawsMakeAResultNotCount) {
  for (const React& breaks :
       {fails("replay", "illegal_memory_access", "a kernel faulted"), ends(Ending::hangs)}) {
    VariedWorld world(Device::cuda);
    world.settings.timeout = 200ms;
    when_scaled(world, "replayer", Body::Replay, breaks);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, Status::correct);
    EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
    EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::failed);
  }
}

// A new process replays the families behind the one that broke the old one.
TEST(VariedReplays, GoOnAfterAFault) {
  VariedWorld world(Device::cuda);
  when_scaled(world, "replayer", Body::Replay, fails("replay", "illegal_memory_access", "a kernel faulted"));
  EXPECT_EQ(trial(world.run(), 2).outcome, FamilyOutcome::held);
}

// The families come before the times.
TEST(VariedReplays, ThatFaultAreFollowedByTheTimes) {
  VariedWorld world(Device::cuda);
  when_scaled(world, "replayer", Body::Replay, fails("replay", "illegal_memory_access", "a kernel faulted"));
  EXPECT_FALSE(world.run().timing.kernel_samples_ms.empty());
}

// Another verdict asks for the device alone before the first family is replayed.
TEST(VariedReplays, StepAsideForOthersThatAreTimed) {
  VariedWorld world(Device::cuda);
  std::string order;
  engine::Lease other = run_task(world.loop, world.leases.share());
  world.loop.restart();
  world.fake.when("oracle", Body::Draw, [&](const auto& asked, Reaction&) {
    const std::string& family = asked.AsDraw()->family;
    if (family.empty()) return;
    order += family + " ";
    if (family != "given") return;
    boost::asio::co_spawn(
        world.loop,
        [](VariedWorld* in, std::string* seen, engine::Lease lease) -> async::Task<> {
          lease = co_await in->leases.all_instead_of(std::move(lease));
          *seen += "others ";
        }(&world, &order, std::move(other)),
        boost::asio::detached);
  });
  EXPECT_EQ(world.run().counts, true);
  EXPECT_EQ(order, "given others scaled_60 shifted_8 ");
}

// One who waits for a turn cannot step aside, so that a turn held meanwhile would keep all from going on.
TEST(VariedReplays, HoldNoTurnToTimeWhileTheyStepAside) {
  VariedWorld world(Device::cuda);
  std::string order;
  engine::Lease other = run_task(world.loop, world.leases.share());
  world.loop.restart();
  engine::Lease turn = run_task(world.loop, world.timing_turns.share());
  world.loop.restart();
  auto is_timed_alone = [](VariedWorld* in, std::string* seen, engine::Lease lease) -> async::Task<> {
    co_await async::sleep_until(async::Deadline::in(30ms));  // the verdict waits for its turn then
    lease = co_await in->leases.all_instead_of(std::move(lease));
    auto free = co_await async::within(async::Deadline::in(2s), nullptr, in->timing_turns.share());
    *seen = free.value ? "free" : "held";
  };
  auto gives_its_turn_back = [](engine::Lease lease) -> async::Task<> {
    co_await async::sleep_until(async::Deadline::in(60ms));
    lease.give_back();
  };
  world.fake.when("oracle", Body::Draw, [&](const auto& asked, Reaction&) {
    if (asked.AsDraw()->family != "shifted_8") return;
    boost::asio::co_spawn(world.loop, is_timed_alone(&world, &order, std::move(other)),
                          boost::asio::detached);
    boost::asio::co_spawn(world.loop, gives_its_turn_back(std::move(turn)), boost::asio::detached);
  });
  EXPECT_FALSE(world.run().timing.kernel_samples_ms.empty());
  EXPECT_EQ(order, "free");
}

TEST(VariedReplays, WhoseRecordingsCannotBeLoadedAgainAreTheInfrastructures) {
  VariedWorld world(Device::cuda);
  auto broken = std::make_shared<bool>(false);
  when_scaled(world, "replayer", Body::Replay, [broken](const auto& asked, Reaction& usual) {
    *broken = true;
    fails("replay", "illegal_memory_access", "a kernel faulted")(asked, usual);
  });
  world.fake.when("replayer", Body::LoadRecording, [broken](const auto& asked, Reaction& usual) {
    if (*broken) fails("replay", "out_of_memory", "no memory")(asked, usual);
  });
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(VariedReplays, ThatLoseTheReplayerWithoutAReasonProveNothing) {
  VariedWorld world(Device::cuda);
  when_scaled(world, "replayer", Body::Replay, dies(SIGKILL));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::untried);
  EXPECT_EQ(trial(verdict, 2).outcome, FamilyOutcome::held);
}

// Host code that reads values back took another way when it was recorded.
class OtherDownloads : public testing::Test {
 protected:
  OtherDownloads() : world(Device::cuda) {
    when_scaled(world, "replayer", Body::Replay,
                says<wire::ReplayedT>([](auto& replayed) { replayed.downloads_equal = false; }));
  }
  VariedWorld world;
};

TEST_F(OtherDownloads, LeadToCallsThatHold) {
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(verdict.trust, Trust::replay);
  for (std::size_t at : {0U, 1U, 2U}) EXPECT_EQ(trial(verdict, at).outcome, FamilyOutcome::held) << at;
}

TEST_F(OtherDownloads, LeadToCallsThatMayBeWrong) {
  world.is_wrong_on("scaled_60");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
  EXPECT_EQ(trial(verdict, 1).outcome, FamilyOutcome::failed);
}

// ---- how many families

TEST(FamiliesAreCapped, WhereCallsAreCostly) {
  EXPECT_EQ(most_families_on_device(std::uint64_t{2} << 30), 3U);
  EXPECT_EQ(most_families_on_device(std::uint64_t{1} << 27), 6U);
  EXPECT_GE(most_families_on_device(1), 20U);
  EXPECT_GE(most_families_interpreted(1, 1e9), 20U);
  EXPECT_EQ(most_families_interpreted(std::uint64_t{1} << 40, 1e9), 4U);
  // Programs that run together.
  EXPECT_GE(most_families_interpreted(std::uint64_t{1} << 40, 10), 20U);
}

// ---- how long a device is held

TEST(WaitOnADevice, IsAHundredTimesAnOrdinaryReplay) {
  EXPECT_EQ(longest_wait({.usual_ms = 300, .least = 10s, .timeout = 180s}), 30s);
}

TEST(WaitOnADevice, HasALeastOneForNeighboursAndCompilers) {
  EXPECT_EQ(longest_wait({.usual_ms = 1, .least = 10s, .timeout = 180s}), 10s);
}

TEST(WaitOnADevice, NeverExceedsTheTimeLimit) {
  EXPECT_EQ(longest_wait({.usual_ms = 1e300, .least = 10s, .timeout = 60s}), 60s);
  EXPECT_EQ(longest_wait({.usual_ms = 1, .least = 10s, .timeout = 2s}), 2s);
}

}  // namespace
}  // namespace kw::verify
