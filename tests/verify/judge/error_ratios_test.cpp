// Errors in units of the reference's own: the largest of all judgements, output by output.
#include "verify/judge/error_ratios.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

namespace kw::verify {
namespace {

struct Seen {
  const char* output;
  double error;
  double unit;  // -1: none
  const char* why = "";
};

wire::JudgedT judged(std::initializer_list<Seen> outputs) {
  wire::JudgedT judged;
  for (const Seen& seen : outputs) {
    auto errors = std::make_unique<wire::OutputErrorsT>();
    errors->output = seen.output;
    errors->max_abs_error = seen.error;
    errors->error_unit = seen.unit;
    errors->no_unit = seen.why;
    judged.outputs.push_back(std::move(errors));
  }
  return judged;
}

TEST(ErrorRatios, AreTheLargestOfAllTrials) {
  Comparison comparison;
  for (double error : {1e-6, 4e-6, 2e-6}) take_error_ratios(judged({{"output", error, 1e-6}}), comparison);
  EXPECT_DOUBLE_EQ(comparison.error_ratio.value_or(-1), 4);
  EXPECT_FALSE(comparison.error_ratio_why_null);
  ASSERT_EQ(comparison.error_ratios.size(), 1U);
  EXPECT_EQ(comparison.error_ratios[0].unit, 1e-6);
  EXPECT_DOUBLE_EQ(comparison.error_ratios[0].error_ratio.value_or(-1), 4);
}

TEST(ErrorRatios, AreOfEachOutput) {
  Comparison comparison;
  take_error_ratios(judged({{"output[0]", 1, 1}, {"output[1]", 9, 3}, {"output[2]", 0, -1, "exact"}}),
                    comparison);
  EXPECT_EQ(comparison.error_ratio, 3);
  ASSERT_EQ(comparison.error_ratios.size(), 3U);
  EXPECT_EQ(comparison.error_ratios[0].error_ratio, 1);
  EXPECT_FALSE(comparison.error_ratios[2].error_ratio);
  EXPECT_FALSE(comparison.error_ratios[2].unit);
  EXPECT_EQ(comparison.error_ratios[2].why_null, NoErrorRatio::exact);
}

TEST(ErrorRatios, AnEqualResultHasZero) {
  Comparison comparison;
  take_error_ratios(judged({{"output", 0, 1e-7}}), comparison);
  EXPECT_EQ(comparison.error_ratio, 0);
}

TEST(ErrorRatios, AreNullWithTheReasonOfTheFirstOutput) {
  Comparison comparison;
  take_error_ratios(judged({{"output[0]", 0, -1, "random"}, {"output[1]", 0, -1, "exact"}}), comparison);
  EXPECT_FALSE(comparison.error_ratio);
  EXPECT_EQ(comparison.error_ratio_why_null, NoErrorRatio::random);
}

TEST(ErrorRatios, AreNullWhereNoValuesWereCompared) {
  Comparison comparison;
  take_error_ratios(judged({}), comparison);
  EXPECT_FALSE(comparison.error_ratio);
  EXPECT_EQ(comparison.error_ratio_why_null, NoErrorRatio::not_compared);
}

TEST(ErrorRatios, AnErrorThatIsNoNumberIsNoRatio) {
  Comparison comparison;
  take_error_ratios(judged({{"output", std::numeric_limits<double>::quiet_NaN(), 1e-6}}), comparison);
  EXPECT_FALSE(comparison.error_ratio);
  EXPECT_EQ(comparison.error_ratio_why_null, NoErrorRatio::nonfinite);
}

TEST(ErrorRatios, AResultThatOnceWasNoNumberHasNone) {
  Comparison comparison;
  for (const Seen& seen :
       {Seen{"output", 1e-6, 1e-6}, Seen{"output", 0, -1, "nonfinite"}, Seen{"output", 0, 1e-6}})
    take_error_ratios(judged({seen}), comparison);
  EXPECT_FALSE(comparison.error_ratio);
  EXPECT_EQ(comparison.error_ratio_why_null, NoErrorRatio::nonfinite);
}

TEST(ErrorRatios, AreThoseOfTheFirstOutputs) {
  Comparison comparison;
  for (int at = 0; at < 40; ++at)
    take_error_ratios(judged({{("output[" + std::to_string(at) + "]").c_str(), 1, 1}}), comparison);
  EXPECT_EQ(comparison.error_ratios.size(), 32U);
}

TEST(ErrorRatios, AWordThatTheOracleMakesUpIsNoReason) {
  Comparison comparison;
  take_error_ratios(judged({{"output", 1, -1, "<script>"}}), comparison);
  EXPECT_EQ(comparison.error_ratio_why_null, NoErrorRatio::no_float64);
}

}  // namespace
}  // namespace kw::verify
