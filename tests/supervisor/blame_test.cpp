#include "verify/blame.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace kw::verify {
namespace {

engine::Refusal died(int wait_status, std::uint64_t oom_kills = 0) {
  engine::Lost lost;
  lost.exit.known = true;
  lost.exit.wait_status = wait_status;
  lost.exit.oom_kills = oom_kills;
  return {{}, lost};
}

engine::Refusal lost(engine::Lost::Why why) {
  return {{}, engine::Lost{why, "", {}}};
}

engine::Refusal said(std::string error_class, std::string stage = "run") {
  wire::FailedT failed;
  failed.stage = std::move(stage);
  failed.error_class = std::move(error_class);
  failed.error = "words";
  return {failed, {}};
}

Verdict blamed(const engine::Refusal& refusal, bool in_launch = false, Device device = Device::cpu) {
  Verdict verdict;
  blame_candidate(verdict, refusal, {Stage::run, device, in_launch, ""});
  return verdict;
}

TEST(Blame, ACrashInsideALaunchIsAnIllegalAccess) {
  EXPECT_EQ(blamed(died(SIGSEGV), true).error_class, ErrorClass::illegal_memory_access);
}

TEST(Blame, ACrashOutsideOneIsADeath) {
  Verdict verdict = blamed(died(SIGSEGV));
  EXPECT_EQ(verdict.error_class, ErrorClass::process_died);
  EXPECT_NE(verdict.error->find("Segmentation"), std::string::npos);
}

TEST(Blame, LeavingEarlyWithCodeZeroIsTheKernelsFault) {
  Verdict verdict = blamed(died(0));
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.fault, Fault::kernel);
  EXPECT_EQ(verdict.error_class, ErrorClass::process_died);
}

TEST(Blame, AnOomKillIsNamed) {
  EXPECT_EQ(blamed(died(SIGKILL, 1)).error_class, ErrorClass::out_of_memory);
}

TEST(Blame, TheInterpretersDeadlineInALaunchIsNoFailure) {
  Verdict verdict = blamed(lost(engine::Lost::Why::deadline), true);
  EXPECT_EQ(verdict.status, Status::skipped);
  EXPECT_EQ(verdict.error_class, ErrorClass::too_large);
  EXPECT_FALSE(verdict.fault);
}

TEST(Blame, OnAGpuADeadlineInALaunchIsATimeout) {
  EXPECT_EQ(blamed(lost(engine::Lost::Why::deadline), true, Device::cuda).error_class, ErrorClass::timeout);
}

TEST(Blame, ADeadlineOnTheHostIsATimeout) {
  EXPECT_EQ(blamed(lost(engine::Lost::Why::deadline)).error_class, ErrorClass::timeout);
}

TEST(Blame, WhatTheInterpreterCannotDoIsSkipped) {
  Verdict verdict = blamed(said("unsupported_candidate"));
  EXPECT_EQ(verdict.status, Status::skipped);
  EXPECT_FALSE(verdict.fault);
}

TEST(Blame, AResultThatCannotBeCarriedOverIsIncorrect) {
  EXPECT_EQ(blamed(said("wrong_structure")).status, Status::incorrect);
}

TEST(Blame, AfterTheImportACandidateCannotPleadOurFault) {
  EXPECT_EQ(blamed(said("infrastructure")).fault, Fault::kernel);
}

TEST(Blame, OurOwnMistakeIsNeverTheKernels) {
  Verdict verdict;
  blame_candidate(verdict, said("infrastructure", "import"), {Stage::import_, Device::cpu, false, ""});
  EXPECT_EQ(verdict.status, Status::error);
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
}

TEST(Blame, AReferenceThatRaisesIsTheTasksFault) {
  Verdict verdict;
  blame_task(verdict, said("task_invalid", "prepare"), Stage::prepare);
  EXPECT_EQ(verdict.fault, Fault::task);
}

TEST(Blame, ALostOracleIsOurs) {
  Verdict verdict;
  blame_task(verdict, died(SIGKILL), Stage::prepare);
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
}

TEST(Reduced, AWrongValueIsNoProof) {
  Verdict verdict;
  verdict.shapes = Shapes::reduced;
  verdict.status = Status::incorrect;
  verdict.error_class = ErrorClass::wrong_value;
  verdict.error = "words";
  forgive_at_reduced_shapes(verdict);
  EXPECT_EQ(verdict.status, Status::skipped);
  EXPECT_EQ(verdict.comparison->findings.size(), 1U);
}

TEST(Reduced, MissingArgumentsStand) {
  Verdict verdict;
  verdict.shapes = Shapes::reduced;
  verdict.status = Status::failed;
  verdict.error_class = ErrorClass::runtime_error;
  verdict.error = "TypeError: wrapper() missing 1 required positional argument: 'n'";
  forgive_at_reduced_shapes(verdict);
  EXPECT_EQ(verdict.status, Status::failed);
}

TEST(Reduced, AtGivenShapesNothingIsForgiven) {
  Verdict verdict;
  verdict.shapes = Shapes::given;
  verdict.status = Status::incorrect;
  verdict.error_class = ErrorClass::wrong_value;
  forgive_at_reduced_shapes(verdict);
  EXPECT_EQ(verdict.status, Status::incorrect);
}

}  // namespace
}  // namespace kw::verify
