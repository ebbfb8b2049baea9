// Verdicts on gradients: the ways of the backward pass that the trials take, and what the verdict says of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::StartsWith;
using wire::Backward;
using wire::Body;

struct BackwardWorld : VerdictWorld {
  explicit BackwardWorld(Device device = Device::cpu) : VerdictWorld(device) {
    fake.spec.input_bytes = 1 << 20;
    settings.backward = true;
    settings.varied_inputs = false;
    fake.when("runner", Body::Call, [this](const wire::BodyUnion& asked, Reaction&) {
      if (asked.AsCall()->effect == wire::Effect::kept && !asked.AsCall()->previous)
        ways.push_back(asked.AsCall()->backward);
    });
  }

  std::vector<Backward> ways;
};

TEST(BackwardVerdict, FewTrialsTakeEveryWay) {
  BackwardWorld world;
  world.settings.correctness_trials = 2;
  EXPECT_EQ(world.run().status, Status::correct);
  // The first call is compiled only.
  EXPECT_THAT(world.ways, ElementsAre(Backward::once, Backward::once, Backward::strided, Backward::retained,
                                      Backward::partial, Backward::expanded));
}

TEST(BackwardVerdict, CotangentsAreDrawnForTheirWay) {
  BackwardWorld world;
  std::vector<bool> drawn;
  world.fake.when("oracle", Body::Draw, [&](const wire::BodyUnion& asked, Reaction&) {
    drawn.push_back(asked.AsDraw()->expanded);
  });
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(std::ranges::count(drawn, true), std::ranges::count(world.ways, Backward::expanded));
}

TEST(BackwardVerdict, LaterTrialsBeginAgain) {
  BackwardWorld world;
  world.settings.correctness_trials = 7;
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_THAT(world.ways,
              ElementsAre(Backward::once, Backward::once, Backward::strided, Backward::retained,
                          Backward::partial, Backward::expanded, Backward::once, Backward::strided));
}

TEST(BackwardVerdict, WithoutGradientsThereIsOneWay) {
  BackwardWorld world;
  world.settings.backward = false;
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_THAT(world.ways, testing::Each(Backward::once));
}

TEST(BackwardVerdict, OnADeviceLiveCallsTakeEveryWay) {
  BackwardWorld world(Device::cuda);
  EXPECT_EQ(world.run().status, Status::correct);
  for (Backward way :
       {Backward::once, Backward::strided, Backward::retained, Backward::partial, Backward::expanded})
    EXPECT_THAT(world.ways, testing::Contains(way));
}

TEST(BackwardVerdict, AnErrorNamesItsWay) {
  const char* words[] = {"values differ", "with cotangents whose strides are not those of the outputs: ",
                         "in a second backward pass over the same graph: ",
                         "where every other input and parameter needs no gradient: ",
                         "with expanded cotangents, whose strides are 0"};
  for (int trial = 0; trial < 5; ++trial) {
    BackwardWorld world;
    world.fake.when("oracle", Body::Judge, judges_wrong(), 1 + trial);
    const Verdict verdict = world.run();
    EXPECT_EQ(verdict.status, Status::incorrect) << trial;
    if (trial > 0) {
      EXPECT_THAT(verdict.error.value_or(""), StartsWith(words[trial]));
    } else {
      EXPECT_THAT(verdict.error.value_or(""), testing::Not(testing::HasSubstr("backward pass")));
    }
  }
}

TEST(BackwardVerdict, AnErrorOfABackwardFunctionNamesItsCall) {
  const char* words[] = {"in a second call of triton_kernel_backward: ",
                         "where triton_kernel_backward is called before the forward function: "};
  for (int trial = 2; trial < 4; ++trial) {
    BackwardWorld world;
    world.fake.when("runner", Body::Load,
                    says<wire::LoadedT>([](auto& loaded) { loaded.backward_entry = true; }));
    world.fake.when("oracle", Body::Judge, judges_wrong(), 1 + trial);
    EXPECT_THAT(world.run().error.value_or(""), StartsWith(words[trial - 2]));
  }
}

TEST(BackwardVerdict, AFailureNamesItsWay) {
  BackwardWorld world;
  world.fake.when("runner", Body::Call, fails("run", "runtime_error", "no such gradient"), 3);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_THAT(verdict.error.value_or(""),
              StartsWith("in a second backward pass over the same graph: no such gradient"));
}

TEST(BackwardVerdict, TheGradientsAreNamed) {
  BackwardWorld world;
  world.fake.when("oracle", Body::Prepare, says<wire::PreparedT>([](auto& prepared) {
                    prepared.gradients = {"gradient of input x", "gradient of parameter w"};
                  }));
  const Verdict verdict = world.run();
  ASSERT_TRUE(verdict.gradients);
  EXPECT_THAT(*verdict.gradients, ElementsAre("gradient of input x", "gradient of parameter w"));
}

TEST(BackwardVerdict, OfOutputsAloneNoneAreNamed) {
  BackwardWorld world;
  world.settings.backward = false;
  EXPECT_FALSE(world.run().gradients);
}

TEST(BackwardVerdict, TheOracleIsAskedForGradients) {
  for (bool backward : {false, true}) {
    BackwardWorld world;
    world.settings.backward = backward;
    bool asked_for = !backward;
    world.fake.when("oracle", Body::Prepare, [&](const wire::BodyUnion& asked, Reaction&) {
      asked_for = asked.AsPrepare()->backward;
    });
    world.run();
    EXPECT_EQ(asked_for, backward);
  }
}

}  // namespace
}  // namespace kw::verify
