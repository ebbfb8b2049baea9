// Verdicts without a GPU: compiled, reduced, interpreted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "verdict_world.h"
#include "verify/judge/cpu_path.h"
#include "verify/judge/oracle_side.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using wire::Body;

struct CpuWorld : VerdictWorld {
  CpuWorld() : VerdictWorld(Device::cpu) { fake.spec.input_bytes = 1 << 20; }
};

React programs(std::uint64_t count) {
  return says<wire::ReturnedT>([=](auto& answer) { answer.program_count = count; });
}

// Halves sizes as an oracle does; the sizes say how often.
React halves(std::uint32_t most) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    auto& prepared = *usual.answer.AsPrepared();
    const auto times = std::min(most, asked.AsPrepare()->halvings);
    prepared.reduced = times > 0;
    prepared.sizes = "{\"n\": " + std::to_string(1024 >> times) + "}";
  };
}

React stays_in_a_launch() {
  return [](const wire::BodyUnion&, Reaction& usual) {
    usual.ending = Ending::hangs;
    usual.in_launch = true;
  };
}

TEST(CpuVerdict, ARightCandidateIsCompiledOnceAndInterpreted) {
  CpuWorld world;
  world.settings.correctness_trials = 2;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.trust, Trust::interpreter);
  EXPECT_EQ(verdict.shapes, Shapes::given);
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(world.exchange(),
            "oracle 0 Spawn, oracle 0 Prepare, "
            "runner 0 Spawn, oracle 0 Draw, runner 0 Open, runner 0 Load, runner 0 Call, oracle 0 Judge, "
            "runner 1 Spawn, oracle 0 Draw, runner 1 Open, runner 1 Load, runner 1 Call, oracle 0 Judge, "
            "oracle 0 Draw, runner 1 Call, oracle 0 Judge, "
            // the first result after the last trial, then in another order, without launches, and spoilt
            "runner 1 Call, oracle 0 Judge, "
            "oracle 0 Draw, runner 1 Call, oracle 0 Judge, oracle 0 Draw, runner 1 Call, oracle 0 Judge, "
            "oracle 0 Draw, runner 1 Call, oracle 0 Judge");
}

// What a rule does to the calls with this effect alone.
React having(wire::Effect effect, React react) {
  return [=](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsCall()->effect == effect) react(asked, usual);
  };
}

TEST(CpuVerdict, ThreeTrialsMeetEachKindOfPoison) {
  CpuWorld world;
  std::vector<std::string> poisons;
  world.fake.when("runner", Body::Call, [&](const wire::BodyUnion& asked, Reaction&) {
    if (!asked.AsCall()->poison.empty()) poisons.push_back(asked.AsCall()->poison);
  });
  world.settings.correctness_trials = 3;
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_THAT(poisons, testing::UnorderedElementsAre("nan", "data", "zeros"));
}

// Memory that the first call allocates may be kept, and nothing fills it again.
TEST(CpuVerdict, NoFirstTrialIsPoisonedWithZeros) {
  for (int times = 0; times < 8; ++times) {
    CpuWorld world;
    world.seeds = SecretSeeds("secret " + std::to_string(times));
    std::vector<std::string> loads, calls;
    world.fake.when("runner", Body::Open, [&](const wire::BodyUnion& asked, Reaction&) {
      if (asked.AsOpen()->mode == wire::Mode::interpret) loads.push_back(asked.AsOpen()->poison);
    });
    world.fake.when("runner", Body::Call, [&](const wire::BodyUnion& asked, Reaction&) {
      if (!asked.AsCall()->poison.empty()) calls.push_back(asked.AsCall()->poison);
    });
    EXPECT_EQ(world.run().status, Status::correct);
    EXPECT_THAT(loads, testing::ElementsAre("mixed"));
    ASSERT_FALSE(calls.empty());
    EXPECT_NE(calls[0], "zeros");
  }
}

TEST(CpuVerdict, NoRunnerGetsTheSeedOfInputs) {
  CpuWorld world;
  std::vector<std::uint64_t> drawn, expected, called;
  world.fake.when("oracle", Body::Draw, [&](const wire::BodyUnion& asked, Reaction&) {
    drawn.push_back(asked.AsDraw()->seed);
    expected.push_back(call_seed(drawn.back()));
  });
  world.fake.when("runner", Body::Call, [&](const wire::BodyUnion& asked, Reaction&) {
    if (!asked.AsCall()->previous) called.push_back(asked.AsCall()->seed);
  });
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(called, expected);
  EXPECT_THAT(called, testing::Each(testing::Not(testing::AnyOfArray(drawn))));
}

// tests/python/test_seeds.py has the same numbers.
TEST(CpuVerdict, TheOracleComputesTheSeedOfACallAsWell) {
  EXPECT_EQ(call_seed(1), 1932990599294486697U);
  EXPECT_EQ(call_seed(0x7fffffffffffffffU), 6904615902175672179U);
}

TEST(CpuVerdict, AResultThatALaterCallChangesIsIncorrect) {
  CpuWorld world;
  world.settings.correctness_trials = 3;
  world.fake.when("oracle", Body::Judge, judges_wrong(), 4);  // after the compile stage's and the trials'
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_THAT(verdict.error.value_or(""), testing::HasSubstr("changed when a later call was made"));
}

// The judgements: one of the compile stage, five trials, one of the first result, then the calls in another
// order.
TEST(CpuVerdict, WrongTwiceInAnotherOrderIsARace) {
  for (const int times : {1, 2}) {
    CpuWorld world;
    for (int nth = 7; nth < 7 + times; ++nth) world.fake.when("oracle", Body::Judge, judges_wrong(), nth);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, times == 2 ? Status::incorrect : Status::correct);
    if (times == 2) EXPECT_EQ(verdict.error_class, ErrorClass::race);
  }
}

TEST(CpuVerdict, WithoutAnEndInAnotherOrderIsNoRace) {
  CpuWorld world;
  world.fake.when("runner", Body::Call, having(wire::Effect::reordered, dies(SIGKILL)));
  EXPECT_EQ(world.run().counts, true);
}

TEST(CpuVerdict, RightInTheInterpreterWithOtherEffectsIsADecoy) {
  for (const wire::Effect effect : {wire::Effect::skipped, wire::Effect::spoilt}) {
    CpuWorld world;
    bool asked_for_it = false;
    world.fake.when("runner", Body::Call, [&](const wire::BodyUnion& asked, Reaction&) {
      asked_for_it = asked.AsCall()->effect == effect;
    });
    world.fake.when("oracle", Body::Judge, [&](const wire::BodyUnion&, Reaction& usual) {
      if (asked_for_it) usual.answer.AsJudged()->right = true;
    });
    EXPECT_EQ(world.run().counts_reason, CountsReason::decoy);
  }
}

TEST(CpuVerdict, RightWithoutLaunchesWhereZerosAreRightIsNoDecoy) {
  CpuWorld world;
  world.fake.zeros_are_right = true;
  bool asked_for_it = false;
  world.fake.when("runner", Body::Call, [&](const wire::BodyUnion& asked, Reaction&) {
    asked_for_it = asked.AsCall()->effect == wire::Effect::skipped;
  });
  world.fake.when("oracle", Body::Judge, [&](const wire::BodyUnion&, Reaction& usual) {
    if (asked_for_it) usual.answer.AsJudged()->right = true;
  });
  EXPECT_EQ(world.run().counts, true);
}

TEST(CpuVerdict, FailingWithOtherEffectsProvesNothing) {
  for (const auto effect : {wire::Effect::skipped, wire::Effect::spoilt, wire::Effect::reordered}) {
    CpuWorld world;
    world.fake.when("runner", Body::Call, having(effect, fails("run", "runtime_error", "no such value")));
    EXPECT_EQ(world.run().counts, true);
  }
}

// Autotuners that may choose from so many configurations. `react` is what a rule does to the calls of
// processes whose autotuners take another one than the first.
struct TunedWorld : CpuWorld {
  explicit TunedWorld(std::uint32_t count, React react = {}) {
    fake.when("runner", Body::Open, [this](const wire::BodyUnion& asked, Reaction&) {
      number = asked.AsOpen()->configuration;
      if (asked.AsOpen()->mode == wire::Mode::interpret) chosen.push_back(number);
    });
    fake.when("runner", Body::Call, [=, this](const wire::BodyUnion& asked, Reaction& usual) {
      if (react && number > 0) react(asked, usual);
      if (usual.answer.type == Body::Returned) usual.answer.AsReturned()->configurations = count;
    });
  }

  std::uint32_t number = 0;           // of the process that was opened last
  std::vector<std::uint32_t> chosen;  // by the processes of the interpreter, in their order
};

TEST(CpuVerdict, EachFurtherConfigurationOfAnAutotunerIsTriedInAProcessOfItsOwn) {
  TunedWorld world(3);
  EXPECT_EQ(world.run().counts, true);
  EXPECT_THAT(world.chosen, testing::ElementsAre(0, 1, 2));
}

TEST(CpuVerdict, AConfigurationThatIsWrongTwiceIsIncorrect) {
  for (const int times : {1, 2}) {
    TunedWorld world(2);
    int wrong = 0;
    world.fake.when("oracle", Body::Judge, [&](const wire::BodyUnion& asked, Reaction& usual) {
      if (world.number == 1 && wrong++ < times) judges_wrong()(asked, usual);
    });
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, times == 2 ? Status::incorrect : Status::correct);
    if (times == 2)
      EXPECT_THAT(verdict.error.value_or(""), testing::StartsWith("with configuration 2 of the 2"));
    EXPECT_THAT(world.chosen, testing::ElementsAre(0, 1, 1));
  }
}

TEST(CpuVerdict, AConfigurationThatReadsBeyondATensorFails) {
  TunedWorld world(2, fails("run", "out_of_bounds", "a load beyond x"));
  EXPECT_EQ(world.run().error_class, ErrorClass::out_of_bounds);
}

// A device passes over what does not compile.
TEST(CpuVerdict, AConfigurationThatFailsOtherwiseProvesNothing) {
  TunedWorld world(2, fails("run", "runtime_error", "an assertion"));
  EXPECT_EQ(world.run().counts, true);
}

TEST(CpuVerdict, AConfigurationThatDoesNotEndIsTheLastOne) {
  TunedWorld world(4, fails("run", "timeout", "no end"));
  EXPECT_EQ(world.run().counts, true);
  EXPECT_THAT(world.chosen, testing::ElementsAre(0, 1));
}

TEST(CpuVerdict, OtherWeightsAreTriedWithTheFirstConfiguration) {
  TunedWorld world(2);
  world.fake.when("runner", Body::Load,
                  says<wire::LoadedT>([](auto& loaded) { loaded.weights_differ = true; }));
  world.fake.when("oracle", Body::Judge, [&](const wire::BodyUnion& asked, Reaction& usual) {
    if (world.number == 1 && world.chosen.size() < 4) judges_wrong()(asked, usual);
  });
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_THAT(world.chosen, testing::ElementsAre(0, 1, 1, 0, 1));
}

// A module that launches its kernel at import, and a configuration that does not compile.
TEST(CpuVerdict, AConfigurationWithWhichTheImportFailsProvesNothing) {
  TunedWorld world(2);
  world.fake.when("runner", Body::Load, [&](const wire::BodyUnion& asked, Reaction& usual) {
    if (world.number == 1) fails("import", "runtime_error", "an assertion")(asked, usual);
  });
  EXPECT_EQ(world.run().counts, true);
}

TEST(CpuVerdict, TheConfigurationsThatAreTriedAreBounded) {
  using testing::ElementsAre;
  EXPECT_THAT(further_configurations(0, 1), ElementsAre());
  EXPECT_THAT(further_configurations(1, 1), ElementsAre());
  EXPECT_THAT(further_configurations(3, 1), ElementsAre(1, 2));
  EXPECT_THAT(further_configurations(15, 1), ElementsAre(1, 3, 5, 7, 9, 11, 14));
  EXPECT_THAT(further_configurations(15, 9'000), ElementsAre(1, 7, 14));
  EXPECT_EQ(further_configurations(4'000'000'000, 1).size(), 7U);
}

TEST(CpuVerdict, HoldsTheOutputOfTheLastProcessThatPrinted) {
  CpuWorld world;
  world.fake.when("runner", Body::Load, prints("compiled\n"), 0);
  EXPECT_EQ(world.run().printed, "compiled");
  world.fake.when("runner", Body::Load, prints("interpreted\n"), 3);
  EXPECT_EQ(world.run().printed, "interpreted");
}
TEST(CpuVerdict, HoldsNoOutputOfACandidateThatPrintsNothing) {
  CpuWorld world;
  world.fake.when("runner", Body::Load, prints(" \n\n"));
  EXPECT_EQ(world.run().printed, std::nullopt);
}
TEST(CpuVerdict, HoldsTheEndOfALongOutputAsPlainText) {
  CpuWorld world;
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "line " + std::to_string(i) + "\n";
  world.fake.when("runner", Body::Load, prints(lines + "\x1b[2J end\n"));
  const std::string printed = world.run().printed.value_or("");
  EXPECT_LE(printed.size(), 4200U);
  EXPECT_THAT(printed, testing::EndsWith("line 1999\n\xEF\xBF\xBD[2J end"));
}

TEST(CpuVerdict, AWrongOneIsIncorrect) {
  CpuWorld world;
  world.fake.when("oracle", Body::Judge, judges_wrong(), 2);
  EXPECT_EQ(world.run().status, Status::incorrect);
}

TEST(CpuVerdict, RightAsConstructedIsRight) {
  for (int last_wrong : {1, 2}) {
    CpuWorld world;
    world.fake.when("runner", Body::Load,
                    says<wire::LoadedT>([](auto& loaded) { loaded.weights_differ = true; }));
    for (int nth = 1; nth <= last_wrong; ++nth) world.fake.when("oracle", Body::Judge, judges_wrong(), nth);
    EXPECT_EQ(world.run().status, last_wrong == 1 ? Status::correct : Status::incorrect);
  }
}

TEST(CpuVerdict, TooManyProgramsAreHalved) {
  CpuWorld world;
  world.fake.when("oracle", Body::Prepare, halves(20));
  world.fake.when("runner", Body::Call, programs(100'000), 0);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.shapes, Shapes::reduced);
}

TEST(CpuVerdict, TooManyProgramsThatCannotBeHalvedAreSkipped) {
  for (bool reduce : {true, false}) {
    CpuWorld world;
    world.settings.reduce_shapes = reduce;
    world.fake.when("oracle", Body::Prepare, halves(0));
    world.fake.when("runner", Body::Call, programs(100'000));
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.error_class, ErrorClass::too_large);
    EXPECT_EQ(verdict.stage, Stage::compile);
  }
}

TEST(CpuVerdict, WhatDoesNotCompileFails) {
  CpuWorld world;
  world.fake.when("runner", Body::Call, fails("compile", "compile_error", "no such type"), 0);
  EXPECT_EQ(world.run().error_class, ErrorClass::compile_error);
}

// The launches wrote nothing there.
TEST(CpuVerdict, WhatElseFailsWithoutItsLaunchesProvesNothing) {
  CpuWorld world;
  world.fake.when("runner", Body::Call, fails("run", "runtime_error", "a NaN"), 0);
  EXPECT_EQ(world.run().status, Status::correct);
}

TEST(CpuVerdict, RightWithoutItsLaunchesDoesNotCount) {
  CpuWorld world;
  world.fake.when("oracle", Body::Judge, says<wire::JudgedT>([](auto& judged) { judged.right = true; }), 0);
  EXPECT_EQ(world.run().counts_reason, CountsReason::decoy);
}

TEST(CpuVerdict, ALaunchThatTakesTooLongIsInterpretedAtSmallerShapes) {
  for (std::uint32_t most : {20U, 0U}) {
    CpuWorld world;
    world.fake.when("oracle", Body::Prepare, halves(most));
    world.context.interpreted_call_limit = 100ms;
    world.fake.when("runner", Body::Call, stays_in_a_launch(), 1);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, most > 0 ? Status::correct : Status::skipped);
  }
}

// The process says that it is in a launch, and counts its programs; its task is small at any shapes.
struct SmallWorld : CpuWorld {
  SmallWorld() {
    fake.spec.input_bytes = 128;
    fake.when("oracle", Body::Prepare, halves(0));
    context.interpreted_call_limit = 100ms;
  }
};

TEST(ClaimsOfSize, ALaunchWithoutLoopsOnLittleDataMustEnd) {
  SmallWorld world;
  world.fake.when("runner", Body::Call, stays_in_a_launch(), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.fault, Fault::kernel);
  EXPECT_EQ(verdict.error_class, ErrorClass::timeout);
}

TEST(ClaimsOfSize, ALoopMayWaitForALaterProgram) {
  SmallWorld world;
  world.job.candidate.code += "def wait(flag):\n    while flag() == 0:\n        pass\n";
  world.fake.when("runner", Body::Call, stays_in_a_launch(), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::skipped);
  EXPECT_EQ(verdict.error_class, ErrorClass::too_large);
}

TEST(ClaimsOfSize, NoKernelHasMoreProgramsThanPairsOfBytes) {
  SmallWorld world;
  world.fake.when("runner", Body::Call, programs(100'000));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.error_class, ErrorClass::forbidden);
}

TEST(ClaimsOfSize, AProgramForEachPairIsSkipped) {
  SmallWorld world;
  world.fake.spec.input_bytes = 512;
  world.fake.when("runner", Body::Call, programs(100'000));
  EXPECT_EQ(world.run().status, Status::skipped);
}

TEST(ClaimsOfSize, ARunnersReportOfOneIsTheKernelsFault) {
  CpuWorld world;
  world.fake.when("runner", Body::Call, fails("run", "too_large", "it takes too long"), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.error_class, ErrorClass::process_died);
}

// ---- further calls

TEST(AuditCalls, AreJudgedBesideTheTrials) {
  CpuWorld world;
  EXPECT_EQ(world.run().judged_calls, 5U);
  world.settings.audit_calls = 20;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.judged_calls, 25U);
}

TEST(AuditCalls, ThatAreWrongAreNamedByNumber) {
  CpuWorld world;
  world.settings.audit_calls = 20;
  // Of the compile stage one, five trials, the first result again, then the further calls.
  world.fake.when("oracle", Body::Judge, judges_wrong(), 1 + 5 + 1 + 3);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error, "call 9: values differ");
  EXPECT_EQ(verdict.judged_calls, 9U);
}

TEST(AuditCalls, EndWithTheTimeLimitWithoutBlame) {
  CpuWorld world;
  world.settings.audit_calls = 1000;
  world.settings.timeout = 400ms;
  world.fake.when("runner", Body::Call, [&](const auto&, Reaction& usual) {
    if (world.fake.count("runner", Body::Call) > 7) usual.delay = 150ms;
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "the time limit ended the further calls after"));
  EXPECT_LT(verdict.judged_calls, 20U);
}

TEST(CpuVerdict, WrongAtReducedShapesProvesNothing) {
  CpuWorld world;
  world.fake.when("oracle", Body::Prepare, halves(20));
  world.fake.when("runner", Body::Call, programs(100'000), 0);
  world.fake.when("oracle", Body::Judge, judges_wrong());
  EXPECT_EQ(world.run().status, Status::skipped);
}

TEST(CpuVerdict, AProcessThatCannotBeStartedIsOurs) {
  for (int nth : {0, 1}) {
    CpuWorld world;
    world.fake.when("runner", Body::Spawn, ends(Ending::closes), nth);
    EXPECT_EQ(world.run().fault, Fault::infrastructure);
  }
}

TEST(CpuVerdict, ARefusedTaskIsTheTasks) {
  CpuWorld world;
  world.fake.when("oracle", Body::Prepare, fails("prepare", "runtime_error", "it raised"));
  EXPECT_EQ(world.run().fault, Fault::task);
}

TEST(CpuVerdict, AStopWhileItCompilesIsNoVerdict) {
  CpuWorld world;
  world.fake.when("runner", Body::Call, [&](const auto&, Reaction& usual) {
    usual.ending = Ending::hangs;
    world.job_stop.request("the client left");
  });
  world.run();
  EXPECT_TRUE(world.stopped);
}

}  // namespace
}  // namespace kw::verify
