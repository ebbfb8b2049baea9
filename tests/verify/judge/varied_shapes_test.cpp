// --varied-shapes: a right result is tried at other shapes, and counts only there if that is required.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

struct ShapesWorld : VerdictWorld {
  explicit ShapesWorld(Device device) : VerdictWorld(device) {
    settings.varied_shapes = "report";
    fake.when("oracle", Body::Prepare, [this](const auto& asked, Reaction& usual) {
      version = asked.AsPrepare()->version;
      auto& task = *static_cast<wire::PreparedT*>(usual.answer.value);
      if (!version.empty()) task.sizes = R"({"rows": 61})";
    });
  }

  // Results at this version are wrong, `times` times; -1: always.
  void is_wrong_at(const std::string& wanted, int times = -1) {
    fake.when("oracle", Body::Judge,
              [this, wanted, times, seen = 0](const auto& asked, Reaction& usual) mutable {
                if (version != wanted || (times >= 0 && seen++ >= times)) return;
                judges_wrong()(asked, usual);
              });
  }

  // The task has no such version.
  void lacks(const std::string& wanted) {
    fake.when("oracle", Body::Prepare, [wanted](const auto& asked, Reaction& usual) {
      if (asked.AsPrepare()->version == wanted)
        fails("prepare", "task_invalid", "no size can change")(asked, usual);
    });
  }

  std::string version = {};  // prepared last
};

FamilyTrial shape_trial(const Verdict& verdict, const std::string& version) {
  if (verdict.generality)
    for (const FamilyTrial& each : verdict.generality->shape_trials)
      if (each.family == version) return each;
  return {.family = "none"};
}

std::optional<ShapeGenerality> shapes_of(const Verdict& verdict) {
  return verdict.generality ? verdict.generality->shapes : std::nullopt;
}

class VariedShapesTest : public testing::TestWithParam<Path> {
 protected:
  VariedShapesTest() : world(GetParam() == Path::cpu ? Device::cpu : Device::cuda) {
    world.settings.replay = GetParam() == Path::replay;
  }
  ShapesWorld world;
};

INSTANTIATE_TEST_SUITE_P(OnAllPaths, VariedShapesTest,
                         testing::Values(Path::cpu, Path::replay, Path::in_process));

TEST_P(VariedShapesTest, HoldForAGeneralKernel) {
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::any);
  for (const char* version : {"prime", "larger", "more_rows", "one", "empty"})
    EXPECT_EQ(shape_trial(verdict, version).outcome, FamilyOutcome::held) << version;
  EXPECT_EQ(shape_trial(verdict, "prime").inputs, R"(sizes {"rows": 61})");
}

TEST_P(VariedShapesTest, AreOnlyReportedUnlessRequired) {
  world.is_wrong_at("prime");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::given_only);
  EXPECT_EQ(shape_trial(verdict, "prime").outcome, FamilyOutcome::failed);
  EXPECT_EQ(shape_trial(verdict, "one").outcome, FamilyOutcome::held);
}

TEST_P(VariedShapesTest, MakeAResultNotCountWhereRequired) {
  world.settings.varied_shapes = "require";
  world.is_wrong_at("prime");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, false);
  EXPECT_EQ(verdict.counts_reason, CountsReason::specialised);
  EXPECT_FALSE(verdict.fault);
}

TEST_P(VariedShapesTest, ThatAreWrongOnceProveNothing) {
  world.is_wrong_at("prime", 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(shape_trial(verdict, "prime").outcome, FamilyOutcome::untried);
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::any);
}

TEST_P(VariedShapesTest, WithoutElementsAreOnlyReported) {
  world.settings.varied_shapes = "require";
  world.is_wrong_at("empty");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::any);
  EXPECT_TRUE(shape_trial(verdict, "empty").reported_only);
}

TEST_P(VariedShapesTest, ThatTheTaskLacksAreDropped) {
  for (const char* version : {"prime", "larger", "more_rows", "one", "empty"}) world.lacks(version);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::unknown);
  EXPECT_EQ(shape_trial(verdict, "prime").outcome, FamilyOutcome::dropped);
  EXPECT_THAT(shape_trial(verdict, "prime").why.value_or(""), testing::HasSubstr("no size can change"));
}

// As the standard deviation of one number.
TEST_P(VariedShapesTest, AtWhichTheReferenceHasNoFiniteAnswerAreDropped) {
  world.settings.varied_shapes = "require";
  world.fake.when("oracle", Body::Draw, [&](const auto& asked, Reaction& usual) {
    if (world.version != "one" || asked.AsDraw()->family != "given") return;
    static_cast<wire::DrawnT*>(usual.answer.value)->dropped = "the reference's outputs are not finite";
    usual.fds.clear();
  });
  world.is_wrong_at("one");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::any);
  EXPECT_EQ(shape_trial(verdict, "one").outcome, FamilyOutcome::dropped);
}

// A version's own families change its inputs, which are tried at the task's own shapes.
TEST_P(VariedShapesTest, HaveInputsAsTheTaskDrawsThem) {
  std::set<std::string> families;
  world.fake.when("oracle", Body::Prepare,
                  says<wire::PreparedT>([](auto& task) { task.families = {"shifted_4"}; }));
  world.fake.when("oracle", Body::Draw, [&](const auto& asked, Reaction&) {
    if (!world.version.empty()) families.insert(asked.AsDraw()->family);
  });
  world.run();
  EXPECT_THAT(families, testing::UnorderedElementsAre("", "given"));
}

TEST_P(VariedShapesTest, AreNotTriedUnlessAskedFor) {
  world.settings.varied_shapes = "off";
  world.is_wrong_at("prime");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  ASSERT_TRUE(verdict.generality);
  EXPECT_FALSE(verdict.generality->shapes);
  EXPECT_EQ(world.version, "");
}

TEST_P(VariedShapesTest, AreNotTriedOnAWrongResult) {
  world.fake.when("oracle", Body::Judge, judges_wrong());
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(world.version, "");
}

TEST_P(VariedShapesTest, OfARandomReferenceAreUnknown) {
  world.fake.when("oracle", Body::Prepare,
                  says<wire::PreparedT>([](auto& task) { task.reference_random = true; }));
  const Verdict verdict = world.run();
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::unknown);
  EXPECT_EQ(world.version, "");
}

// An exception at other shapes is a failure like a wrong value.
TEST_P(VariedShapesTest, AtWhichTheKernelRaisesFail) {
  world.fake.when("runner", Body::Call, [&](const auto& asked, Reaction& usual) {
    if (world.version == "one") fails("run", "runtime_error", "n must be a multiple of 64")(asked, usual);
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shape_trial(verdict, "one").outcome, FamilyOutcome::failed);
  EXPECT_THAT(shape_trial(verdict, "one").why.value_or(""), testing::HasSubstr("n must be a multiple of 64"));
}

// The reference may break its process at sizes that its task never has.
TEST_P(VariedShapesTest, ThatCostTheOracleItsProcessLeaveTheVerdict) {
  world.fake.when("oracle", Body::Prepare, [](const auto& asked, Reaction& usual) {
    if (asked.AsPrepare()->version == "larger") usual.ending = Ending::dies;
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shape_trial(verdict, "prime").outcome, FamilyOutcome::held);
  for (const char* version : {"larger", "one", "empty"})
    EXPECT_EQ(shape_trial(verdict, version).outcome, FamilyOutcome::untried) << version;
}

// The machine's fault at another shape is none of the verdict on the task's own.
TEST_P(VariedShapesTest, WithoutAProcessAreUntried) {
  world.fake.when("runner", Body::Open, [&](const auto&, Reaction& usual) {
    if (!world.version.empty()) usual.ending = Ending::dies;
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.counts, true);
  EXPECT_EQ(shapes_of(verdict), ShapeGenerality::unknown);
  EXPECT_EQ(shape_trial(verdict, "prime").outcome, FamilyOutcome::untried);
}

}  // namespace
}  // namespace kw::verify
