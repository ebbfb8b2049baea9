// --sanitize memcheck,racecheck: recordings replayed under compute-sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verdict_world.h"
#include "verify/judge/sanitizers.h"

namespace kw::verify {
namespace {

using namespace test;
using testing::HasSubstr;
using wire::Body;

constexpr const char* shared_write = R"(========= Invalid __shared__ write of size 4 bytes
=========     at add+0x250 in kernel.py:8
=========     by thread (72,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
)";
constexpr const char* race = R"(========= Error: Race reported between Write access at add+0xe0
=========     and Read access at add+0xf0 [1024 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
)";

struct ToolWorld : VerdictWorld {
  ToolWorld() {
    settings.sanitize = {Sanitizer::memcheck, Sanitizer::racecheck};
    settings.timing_trials = 0;
    context.compute_sanitizer = "/opt/compute-sanitizer";
  }
};

const SanitizerCheck& last_check(const Verdict& verdict) {
  return verdict.sanitized.value().back();
}

// Why the check of memcheck was not run, of a verdict that is right all the same.
std::string why_no_memcheck(ToolWorld& world) {
  world.settings.sanitize = {Sanitizer::memcheck};
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct) << verdict.error.value_or("");
  EXPECT_EQ(last_check(verdict).outcome, SanitizerOutcome::not_run);
  return last_check(verdict).why_not.value_or("no reason");
}

TEST(SanitizeByTool, CleanRecordingsAreCleanForBothTools) {
  ToolWorld world;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  ASSERT_EQ(verdict.sanitized.value().size(), 2U);
  for (const SanitizerCheck& each : *verdict.sanitized) EXPECT_EQ(each.outcome, SanitizerOutcome::clean);
}

TEST(SanitizeByTool, EachRecordingIsReplayedOnceOnFreshInputs) {
  ToolWorld world;
  world.run();
  const int recordings = world.fake.count("memcheck", Body::LoadRecording);
  EXPECT_GT(recordings, 0);
  EXPECT_EQ(world.fake.count("memcheck", Body::Replay), recordings);
  EXPECT_EQ(world.fake.count("racecheck", Body::Replay), recordings);
}

TEST(SanitizeByTool, AnAccessOutOfBoundsFailsAndEndsTheChecks) {
  ToolWorld world;
  world.fake.memcheck_text = shared_write;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.error_class, ErrorClass::out_of_bounds);
  EXPECT_EQ(verdict.error,
            "kernel add: write of 4 bytes beyond shared memory at kernel.py:8 (--sanitize memcheck)");
  EXPECT_EQ(last_check(verdict).check, Sanitizer::memcheck);
  EXPECT_EQ(last_check(verdict).outcome, SanitizerOutcome::found);
  EXPECT_EQ(world.fake.count("racecheck", Body::Spawn), 0);
}

TEST(SanitizeByTool, AToolThatDoesNotKnowTheCallsMemoryFindsNothing) {
  ToolWorld world;
  world.fake.memcheck_text = R"(========= Invalid __global__ read of size 4 bytes
=========     at add+0x250 in kernel.py:8
=========     Access to 0x300000000fac is out of bounds
========= ERROR SUMMARY: 1 error
)";
  EXPECT_EQ(world.run().status, Status::correct);
}

TEST(SanitizeByTool, ARaceIsAWrongResult) {
  ToolWorld world;
  world.fake.racecheck_text = race;
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error_class, ErrorClass::race);
  EXPECT_THAT(verdict.error.value_or(""),
              HasSubstr("kernel add: race of a write and a read in shared memory"));
}

TEST(SanitizeByTool, AFaultThatBreaksTheReplayIsTheToolsFinding) {
  ToolWorld world;
  world.fake.memcheck_text = shared_write;
  world.fake.when("memcheck", Body::Replay,
                  fails("replay", "illegal_memory_access", "the launch of add: CUDA_ERROR_LAUNCH_FAILED"));
  EXPECT_EQ(world.run().error_class, ErrorClass::out_of_bounds);
}

TEST(SanitizeByTool, AReplayThatFailsWithoutAFindingProvesNothing) {
  ToolWorld world;
  world.fake.when("memcheck", Body::Replay, fails("replay", "infrastructure", "no memory is left"));
  EXPECT_EQ(why_no_memcheck(world), "no memory is left");
}

TEST(SanitizeByTool, AReportWithoutItsEndProvesNothing) {
  ToolWorld world;
  world.fake.memcheck_text = "========= COMPUTE-SANITIZER\n";
  EXPECT_THAT(why_no_memcheck(world), HasSubstr("not come to its end"));
}

TEST(SanitizeByTool, AToolThatRefusesTheDeviceIsQuoted) {
  ToolWorld world;
  world.fake.memcheck_text = "========= Error: Device not supported\n";
  world.fake.when("memcheck", Body::LoadRecording,
                  fails("replay", "infrastructure", "the replayer under the tool: it does not start"));
  EXPECT_THAT(why_no_memcheck(world), HasSubstr("Device not supported"));
}

TEST(SanitizeByTool, AToolThatDiesProvesNothing) {
  ToolWorld world;
  world.fake.when("memcheck", Body::Replay, ends(Ending::closes));
  EXPECT_THAT(why_no_memcheck(world), HasSubstr("compute-sanitizer: "));
}

TEST(SanitizeByTool, WithoutTheToolTheCheckIsNotRun) {
  ToolWorld world;
  world.context.compute_sanitizer.clear();
  EXPECT_EQ(why_no_memcheck(world), "compute-sanitizer is not installed");
}

TEST(SanitizeByTool, CallsThatAreNotReplayedAreNotChecked) {
  ToolWorld world;
  world.settings.replay = false;
  EXPECT_THAT(why_no_memcheck(world), HasSubstr("calls are not replayed: "));
}

TEST(SanitizeByTool, AStopGivesNoVerdict) {
  ToolWorld world;
  world.fake.when("memcheck", Body::Replay, [&](const wire::BodyUnion&, Reaction& usual) {
    world.job_stop.request("test");
    usual.ending = Ending::hangs;
  });
  world.run();
  EXPECT_TRUE(world.stopped);
}

TEST(KernelsOfLibraries, ANameThatTheCandidateHasTooIsItsOwn) {
  const auto launch = [](const char* name, std::optional<std::string> whose) {
    EvidenceLaunch each;
    each.name = name;
    each.whose = std::move(whose);
    return each;
  };
  EXPECT_THAT(kernels_of_libraries({launch("gemm", "library"), launch("add", "candidate"),
                                    launch("copy", "library"), launch("copy", "unattested")}),
              testing::ElementsAre("gemm"));
}

TEST(SanitizeByTool, AFindingInALibrarysKernelDoesNotCount) {
  ToolWorld world;
  world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](wire::ReplayableT& answer) {
                    if (answer.launches.front()->name != "add") return;
                    auto gemm = std::make_unique<wire::LaunchT>(*answer.launches.front());
                    gemm->name = "gemm";
                    gemm->cubin_sha256 = "census";
                    gemm->code = library_code;
                    answer.launches.push_back(std::move(gemm));
                    answer.launch_count = 2;
                  }));
  world.fake.racecheck_text = race;
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = world.fake.racecheck_text.find(from, at)) != std::string::npos;
         at += to.size())
      world.fake.racecheck_text.replace(at, from.size(), to);
  };
  replace("at add", "at gemm");
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct) << verdict.error.value_or("");
  EXPECT_EQ(last_check(verdict).outcome, SanitizerOutcome::not_run);
  EXPECT_THAT(last_check(verdict).why_not.value_or(""), testing::HasSubstr("in kernels of libraries"));
}

}  // namespace
}  // namespace kw::verify
