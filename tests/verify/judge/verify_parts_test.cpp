#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "verify/judge/attempt.h"
#include "verify/judge/devices.h"
#include "verify/judge/protocol.h"
#include "verify/judge/static_verifier.h"
#include "verify/judge/statistics.h"
#include "verify/workers/policy.h"

namespace kw::verify {
namespace {

TEST(Median, OfAnEvenCountLiesBetween) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Midmean, IsTheMeanOfTheMiddleHalf) {
  EXPECT_EQ(midmean({1000, 1, 2, 3, 4, 5, 6, -1000}), (2 + 3 + 4 + 5) / 4.0);
  EXPECT_EQ(midmean({7}), 7);
}

TEST(Midmean, LiesBetweenTheStepsOfAnInstrument) {
  std::vector<double> samples(40, 3.0);
  std::fill(samples.begin(), samples.begin() + 20, 3.2);
  EXPECT_NEAR(midmean(samples), 3.1, 1e-9);
}

TEST(Midmean, ItsIntervalHoldsTheTruthNineteenTimesInTwenty) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(100, 1);
  int held = 0;
  constexpr int rounds = 2000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> samples;
    for (int i = 0; i < 16; ++i) samples.push_back(noise(random));
    auto [low, high] = midmean_interval(samples);
    if (low <= 100 && 100 <= high) ++held;
  }
  EXPECT_NEAR(held / static_cast<double>(rounds), 0.95, 0.02);
}

TEST(Midmean, IsSettledOnceItsIntervalIsNarrow) {
  EXPECT_TRUE(is_settled(std::vector<double>(40, 2.0)));
  EXPECT_FALSE(is_settled(std::vector<double>(39, 2.0)));
  std::vector<double> wide;
  for (int i = 0; i < 100; ++i) wide.push_back(i);
  EXPECT_FALSE(is_settled(wide));
}

TEST(ClockFloor, IsFinerThanTheStepsOfWhatItIsMadeFrom) {
  ClockFloor floor;
  EXPECT_EQ(floor.ms(), 0);
  for (int i = 0; i < 10; ++i) {
    floor.add(1.280e-3);
    floor.add(1.312e-3);
  }
  EXPECT_NEAR(floor.ms(), 1.296e-3, 1e-9);
}

TEST(ClockFloor, ProcessesThatLieDoNotMoveIt) {
  ClockFloor floor;
  for (int i = 0; i < 12; ++i) floor.add(1.28e-3);
  for (int i = 0; i < 4; ++i) floor.add(0);
  EXPECT_NEAR(floor.ms(), 1.28e-3, 1e-9);
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

TEST(Protocol, AJobsOptionsAreItsSettings) {
  Settings settings;
  JobOptions options;
  EXPECT_EQ(with_options(settings, options).correctness_trials, settings.correctness_trials);
  options.correctness_trials = 7;
  options.tolerance = ToleranceOption{"strict"};
  options.timeout = std::chrono::milliseconds(1500);
  Settings own = with_options(settings, options);
  EXPECT_EQ(own.correctness_trials, 7);
  EXPECT_EQ(own.tolerance.name, "strict");
  EXPECT_EQ(own.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(own.timing_trials, settings.timing_trials);
}

TEST(TaskKey, IsOfTheTextAndNotOfTheNameAlone) {
  Task task;
  task.task_id = "same name";
  task.reference_code = "one";
  Task other = task;
  other.reference_code = "another";
  Settings settings;
  Settings loose = settings;
  loose.tolerance.name = "strict";
  EXPECT_EQ(task_key(task, settings, 0), task_key(task, settings, 0));
  EXPECT_NE(task_key(task, settings, 0), task_key(other, settings, 0));
  EXPECT_NE(task_key(task, settings, 0), task_key(task, loose, 0));
  EXPECT_NE(task_key(task, settings, 0), task_key(task, settings, 1));
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
  auto blame = examine_statically(job_with("import ctypes\ndef triton_kernel_wrapper(x):\n    return x\n"));
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->error_class, ErrorClass::forbidden);
  EXPECT_EQ(blame->detail->line, 1);
}

TEST(Statics, NoEntryEndsThere) {
  auto blame = examine_statically(job_with("@triton.jit\ndef k(p): pass\ndef helper(x):\n    return x\n"));
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->error_class, ErrorClass::missing_entry);
  EXPECT_EQ(
      blame->error,
      "the candidate defines none of: ModelNew, triton_kernel_wrapper; it defines `k` (a Triton kernel), "
      "`helper`");
}

TEST(Statics, AWordInAStringIsNotForbidden) {
  EXPECT_FALSE(
      examine_statically(job_with("def triton_kernel_wrapper(x):\n    '''import ctypes'''\n    return x\n")));
}

TEST(Statics, ASyntaxErrorIsPythonsToName) {
  EXPECT_FALSE(examine_statically(job_with("def triton_kernel_wrapper(x:\n    return x\n")));
}

TEST(Statics, ATextThatIsNotPythonEndsThere) {
  for (const char* text : {"# Notes\n\nThe kernel is in another file; see the README.\n", "{\"a\": [1,\n"}) {
    auto blame = examine_statically(job_with(text));
    ASSERT_TRUE(blame) << text;
    EXPECT_EQ(blame->error_class, ErrorClass::syntax_error);
    EXPECT_EQ(blame->stage, Stage::parse);
    EXPECT_EQ(blame->fault, Fault::kernel);
    EXPECT_GT(blame->detail->line, 0);
  }
}

// The verdict of a verifier without processes.
std::optional<Verdict> verdict_by_source(const Job& job, Settings settings = {}) {
  async::Loop loop;
  async::Stop stop(loop);
  StaticVerifier verifier(std::move(settings), "9.9");
  std::optional<Verdict> verdict;
  auto judge = [&]() -> async::Task<> { verdict = co_await verifier.verify(job, stop); };
  async::spawn(loop, judge());
  loop.run();
  return verdict;
}

TEST(BySource, ARefusedCandidateGetsTheJudgesVerdict) {
  Job job = job_with("def helper(x):\n    return x\n");
  job.id = "row";
  auto blame = examine_statically(job);
  auto verdict = verdict_by_source(job);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->id, "row");
  EXPECT_EQ(verdict->status, blame->status);
  EXPECT_EQ(verdict->stage, blame->stage);
  EXPECT_EQ(verdict->fault, blame->fault);
  EXPECT_EQ(verdict->error_class, blame->error_class);
  EXPECT_EQ(verdict->error, blame->error);
  EXPECT_EQ(verdict->environment.program_version, "9.9");
  EXPECT_EQ(verdict->stages_ms.size(), 1U);
}

TEST(BySource, AnotherCandidateIsNotJudged) {
  auto verdict = verdict_by_source(job_with("def triton_kernel_wrapper(x):\n    return x\n"));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
}

TEST(BySource, ItsProtocolDependsOnTheSettings) {
  Settings other;
  other.correctness_trials += 1;
  EXPECT_NE(StaticVerifier({}, "1").protocol(), StaticVerifier(other, "1").protocol());
}

}  // namespace
}  // namespace kw::verify
