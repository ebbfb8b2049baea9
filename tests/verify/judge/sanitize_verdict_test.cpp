// --sanitize: further checks of a right result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verdict_world.h"
#include "verify/judge/sanitizers.h"

namespace kw::verify {
namespace {

using namespace test;
using testing::ElementsAre;
using wire::Body;

// "bounds clean", "memcheck not_run: needs a GPU".
std::vector<std::string> checks_of(const Verdict& verdict) {
  std::vector<std::string> words;
  if (!verdict.sanitized) return words;
  for (const SanitizerCheck& each : *verdict.sanitized) {
    std::string& text = words.emplace_back(to_string(each.check));
    text += " " + std::string(to_string(each.outcome));
    if (each.why_not) text += ": " + *each.why_not;
  }
  return words;
}

TEST(Sanitize, IsNullWhereNothingWasAsked) {
  VerdictWorld world(Device::cpu);
  EXPECT_FALSE(world.run().sanitized);
}

TEST(Sanitize, IsNullWhereTheResultIsWrong) {
  VerdictWorld world(Device::cpu);
  world.settings.sanitize = {Sanitizer::bounds};
  world.fake.when("oracle", Body::Judge, judges_wrong());
  EXPECT_FALSE(world.run().sanitized);
}

TEST(Sanitize, WithoutAGpuBoundsAreCleanAndToolsDoNotRun) {
  VerdictWorld world(Device::cpu);
  world.settings.sanitize = {Sanitizer::bounds, Sanitizer::memcheck, Sanitizer::racecheck};
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_THAT(checks_of(verdict),
              ElementsAre("bounds clean", "memcheck not_run: needs a GPU", "racecheck not_run: needs a GPU"));
}

TEST(Sanitize, AFindingNamesKernelTensorAndPlace) {
  const Blame blame = blame_sanitized(
      Sanitizer::memcheck,
      {.kind = "read of 4 bytes", .kernel = "add", .tensor = "input x", .place = "kernel.py:7"});
  EXPECT_EQ(blame.status, Status::failed);
  EXPECT_EQ(blame.fault, Fault::kernel);
  EXPECT_EQ(blame.error_class, ErrorClass::out_of_bounds);
  EXPECT_EQ(blame.error, "kernel add: read of 4 bytes of input x at kernel.py:7 (--sanitize memcheck)");
}

TEST(Sanitize, AHazardIsARaceAndAWrongResult) {
  const Blame blame = blame_sanitized(Sanitizer::racecheck, {.kind = "hazard"});
  EXPECT_EQ(blame.status, Status::incorrect);
  EXPECT_EQ(blame.error_class, ErrorClass::race);
  EXPECT_EQ(blame.error, "a kernel: hazard (--sanitize racecheck)");
}

}  // namespace
}  // namespace kw::verify
