#include <gtest/gtest.h>

#include "engine/policy.h"
#include "verify/protocol.h"
#include "verify/roofline.h"
#include "verify/statics.h"
#include "verify/statistics.h"

namespace kw::verify {
namespace {

TEST(Median, OfAnEvenCountLiesBetween) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Median, ItsIntervalHoldsIt) {
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) samples.push_back(i);
  auto [low, high] = median_interval(samples);
  EXPECT_LE(low, 50);
  EXPECT_GE(high, 50);
  EXPECT_GT(low, 35);
  EXPECT_LT(high, 65);
}

TEST(Median, IsSettledOnceItsIntervalIsNarrow) {
  EXPECT_TRUE(is_settled(std::vector<double>(40, 2.0)));
  EXPECT_FALSE(is_settled(std::vector<double>(39, 2.0)));
  std::vector<double> wide;
  for (int i = 0; i < 100; ++i) wide.push_back(i);
  EXPECT_FALSE(is_settled(wide));
}

TEST(Roofline, AnH200MovesItsBandwidthInASecond) {
  EXPECT_DOUBLE_EQ(*least_traffic_ms("NVIDIA H200", 4'800'000'000'000), 1000.0);
  EXPECT_FALSE(least_traffic_ms("a GPU nobody knows", 1));
}

TEST(Protocol, ChangesWithWhatCanChangeAVerdict) {
  wire::ReadyT versions;
  versions.torch = "2.11.0";
  Settings settings;
  std::string before = protocol_hash(settings, versions, "");
  EXPECT_EQ(protocol_hash(settings, versions, ""), before);
  settings.correctness_trials = 6;
  EXPECT_NE(protocol_hash(settings, versions, ""), before);
  settings.correctness_trials = 5;
  versions.torch = "2.12.0";
  EXPECT_NE(protocol_hash(settings, versions, ""), before);
}

TEST(Policy, EveryWorkerHasItsOwnCgroupAndUid) {
  auto first = engine::to_message({}, 0);
  auto second = engine::to_message({}, 1);
  EXPECT_NE(first.cgroup, second.cgroup);
  EXPECT_NE(first.uid, second.uid);
  EXPECT_NE(first.uid, 0U);
}

TEST(Policy, NothingButEveryLayerIsFull) {
  EXPECT_EQ(engine::isolation_level(0), "process");
  EXPECT_EQ(engine::isolation_level(~0U), "full");
  EXPECT_EQ(engine::isolation_level(~0U & ~(1U << 13)), "partial");
}

Job job_with(std::string code) {
  Job job;
  job.candidate.code = std::move(code);
  return job;
}

TEST(Statics, AForbiddenImportEndsThere) {
  Verdict verdict;
  EXPECT_TRUE(
      examine_statically(verdict, job_with("import ctypes\ndef triton_kernel_wrapper(x):\n    return x\n")));
  EXPECT_EQ(verdict.error_class, ErrorClass::forbidden);
  EXPECT_EQ(verdict.error_detail->line, 1);
}

TEST(Statics, NoEntryEndsThere) {
  Verdict verdict;
  EXPECT_TRUE(examine_statically(verdict, job_with("def helper(x):\n    return x\n")));
  EXPECT_EQ(verdict.error_class, ErrorClass::missing_entry);
}

TEST(Statics, AWordInAStringIsNotForbidden) {
  Verdict verdict;
  EXPECT_FALSE(examine_statically(
      verdict, job_with("def triton_kernel_wrapper(x):\n    '''import ctypes'''\n    return x\n")));
}

TEST(Statics, ASyntaxErrorIsPythonsToName) {
  Verdict verdict;
  EXPECT_FALSE(examine_statically(verdict, job_with("def triton_kernel_wrapper(x:\n    return x\n")));
}

}  // namespace
}  // namespace kw::verify
