// A right result whose error is that of rounded operands.
#include <gtest/gtest.h>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;

struct PrecisionWorld : VerdictWorld {
  using VerdictWorld::VerdictWorld;

  // The oracle says so of every right result whose number this divides.
  void is_rounded_each(int number) {
    fake.when("oracle", Body::Judge, says<wire::JudgedT>([this, number](auto& judged) {
                if (judged.right && ++right_ % number == 0) judged.operand_precision = "bfloat16";
              }));
  }

 private:
  int right_ = 0;
};

class Precision : public testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Device, Precision, testing::Values(Device::cpu, Device::cuda));

TEST_P(Precision, OfOperandsInEveryTrialMakesAResultNotCount) {
  PrecisionWorld world(GetParam());
  world.is_rounded_each(1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.counts, false);
  EXPECT_EQ(verdict.counts_reason, CountsReason::precision);
  EXPECT_FALSE(verdict.fault);
}

TEST_P(Precision, InSomeTrialsIsNotCountedAgainst) {
  PrecisionWorld world(GetParam());
  world.is_rounded_each(2);
  EXPECT_EQ(world.run().counts, true);
}

}  // namespace
}  // namespace kw::verify
