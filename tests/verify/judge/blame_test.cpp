#include "verify/judge/blame.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "verify/judge/verdict_writer.h"

namespace kw::verify {
namespace {

engine::WorkerFailure died(int wait_status, std::uint64_t oom_kills = 0) {
  engine::Lost lost;
  lost.exit.known = true;
  lost.exit.wait_status = wait_status;
  lost.exit.oom_kills = oom_kills;
  return {{}, lost};
}

engine::WorkerFailure lost(engine::Lost::Why why) {
  return {{}, engine::Lost{why, "", {}}};
}

engine::WorkerFailure said(std::string error_class, std::string stage = "run") {
  wire::FailedT failed;
  failed.stage = std::move(stage);
  failed.error_class = std::move(error_class);
  failed.error = "words";
  return {failed, {}};
}

Blame blamed(const engine::WorkerFailure& refusal, bool in_launch = false, Device device = Device::cpu) {
  return blame_candidate(refusal, {Stage::run, device, in_launch, "", "def f():\n    pass\n"});
}

TEST(Blame, ACrashInsideALaunchIsAnIllegalAccess) {
  EXPECT_EQ(blamed(died(SIGSEGV), true).error_class, ErrorClass::illegal_memory_access);
}

TEST(Blame, ACrashOutsideOneIsADeath) {
  Blame blame = blamed(died(SIGSEGV));
  EXPECT_EQ(blame.error_class, ErrorClass::process_died);
  EXPECT_TRUE(blame.error.contains("Segmentation"));
}

TEST(Blame, LeavingEarlyWithCodeZeroIsTheKernelsFault) {
  Blame blame = blamed(died(0));
  EXPECT_EQ(blame.status, Status::failed);
  EXPECT_EQ(blame.fault, Fault::kernel);
  EXPECT_EQ(blame.error_class, ErrorClass::process_died);
}

TEST(Blame, AnOomKillIsNamed) {
  EXPECT_EQ(blamed(died(SIGKILL, 1)).error_class, ErrorClass::out_of_memory);
}

TEST(Blame, ADeadlineOfTheOptionIsNamed) {
  const Blame blame =
      blame_candidate(lost(engine::Lost::Why::deadline),
                      {.printed = "", .source = "", .timeout = std::chrono::milliseconds(1500)});
  EXPECT_EQ(blame.error, "the candidate did not return within the limit of --timeout, 1.5 s");
}

TEST(Blame, TheInterpretersDeadlineInALaunchIsNoFailure) {
  Blame blame = blamed(lost(engine::Lost::Why::deadline), true);
  EXPECT_EQ(blame.status, Status::skipped);
  EXPECT_EQ(blame.error_class, ErrorClass::too_large);
  EXPECT_FALSE(blame.fault);
}

TEST(Blame, OnAGpuADeadlineInALaunchIsATimeout) {
  EXPECT_EQ(blamed(lost(engine::Lost::Why::deadline), true, Device::cuda).error_class, ErrorClass::timeout);
}

TEST(Blame, ADeadlineOnTheHostIsATimeout) {
  EXPECT_EQ(blamed(lost(engine::Lost::Why::deadline)).error_class, ErrorClass::timeout);
}

TEST(Blame, ADeadlineBesideProcessesThatTookTheCpuIsInDoubt) {
  for (bool starved : {true, false}) {
    engine::WorkerFailure late = lost(engine::Lost::Why::deadline);
    late.lost->starved = starved;
    EXPECT_EQ(blamed(late).error_class, ErrorClass::timeout);
    EXPECT_EQ(blamed(late).doubt.empty(), !starved);
    EXPECT_EQ(blamed(late, true).doubt.empty(), !starved);
    EXPECT_EQ(blame_task(late, Stage::prepare).doubt.empty(), !starved);
  }
}

TEST(Blame, MoreDeviceMemoryThanTheLimitIsTheKernels) {
  Blame blame = blamed(lost(engine::Lost::Why::over_device_memory), false, Device::cuda);
  EXPECT_EQ(blame.fault, Fault::kernel);
  EXPECT_EQ(blame.error_class, ErrorClass::out_of_memory);
  EXPECT_EQ(blame.doubt, "");
}

engine::WorkerFailure reports_inline_ptx() {
  auto failure = said("unsupported_candidate");
  failure.failed->error = "Unsupported: cannot be run without a GPU: inline PTX";
  return failure;
}

TEST(Blame, AFeatureThatTheInterpreterLacksIsSkipped) {
  Blame blame =
      blame_candidate(reports_inline_ptx(), {.printed = "", .source = "y = tl.inline_asm_elementwise(x)\n"});
  EXPECT_EQ(blame.status, Status::skipped);
  EXPECT_EQ(blame.error_class, ErrorClass::unsupported_candidate);
  EXPECT_FALSE(blame.fault);
}

TEST(Blame, AMissingFeatureThatTheSourceDoesNotUseIsTheKernelsFault) {
  Blame blame = blamed(reports_inline_ptx());
  EXPECT_EQ(blame.status, Status::failed);
  EXPECT_EQ(blame.fault, Fault::kernel);
  EXPECT_EQ(blame.error_class, ErrorClass::process_died);
}

TEST(Blame, AResultThatCannotBeCarriedOverIsIncorrect) {
  EXPECT_EQ(blamed(said("wrong_structure")).status, Status::incorrect);
}

TEST(Blame, ACandidateCannotPleadOurFault) {
  for (Stage stage : {Stage::import_, Stage::run, Stage::record}) {
    Blame blame = blame_candidate(said("infrastructure", "import"), {stage, Device::cpu, false, "", ""});
    EXPECT_EQ(blame.status, Status::failed);
    EXPECT_EQ(blame.fault, Fault::kernel);
    EXPECT_EQ(blame.error_class, ErrorClass::process_died);
  }
}

TEST(Blame, AReferenceThatRaisesIsTheTasksFault) {
  EXPECT_EQ(blame_task(said("task_invalid", "prepare"), Stage::prepare).fault, Fault::task);
}

TEST(Blame, ALostOracleIsOurs) {
  EXPECT_EQ(blame_task(died(SIGKILL), Stage::prepare).fault, Fault::infrastructure);
}

Verdict ended_at(bool reduced, Status status, ErrorClass error_class, std::string error) {
  VerdictWriter writer(Job{}, Settings{}, Environment{});
  wire::PreparedT task;
  task.reduced = reduced;
  writer.take_task(task);
  writer.end(Blame{Stage::judge, status, Fault::kernel, error_class, std::move(error)});
  writer.forgive_at_reduced_shapes();
  return writer.verdict();
}

TEST(Reduced, AWrongValueIsNoProof) {
  Verdict verdict = ended_at(true, Status::incorrect, ErrorClass::wrong_value, "words");
  EXPECT_EQ(verdict.status, Status::skipped);
  EXPECT_EQ(verdict.comparison->findings.back(), "at reduced shapes: wrong_value: words");
}

TEST(Reduced, MissingArgumentsStand) {
  Verdict verdict = ended_at(true, Status::failed, ErrorClass::runtime_error,
                             "TypeError: wrapper() missing 1 required positional argument: 'n'");
  EXPECT_EQ(verdict.status, Status::failed);
}

TEST(Reduced, AtGivenShapesNothingIsForgiven) {
  EXPECT_EQ(ended_at(false, Status::incorrect, ErrorClass::wrong_value, "words").status, Status::incorrect);
}

}  // namespace
}  // namespace kw::verify
