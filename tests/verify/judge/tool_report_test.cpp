// What is read from compute-sanitizer's text, which holds names of the candidate's choice.
#include "verify/judge/tool_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kw::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As compute-sanitizer 2025.3.1 printed it on an H100.
constexpr std::string_view over_read = R"(========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at copy+0x250 in probe.py:8
=========     by thread (72,0,0) in block (0,0,0)
=========     Access to 0x7f2f04800fac is out of bounds
=========     and is 13 bytes after the nearest allocation at 0x7f2f04800000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: launch [0x1dbe] in __triton_launcher.cpython-312-x86_64-linux-gnu.so
=========
========= Invalid __global__ read of size 4 bytes
=========     at copy+0x250 in probe.py:8
=========     by thread (73,0,0) in block (0,0,0)
=========     Access to 0x7f2f04800fbc is out of bounds
=========
========= Target application returned an error
========= ERROR SUMMARY: 6 errors
========= ERROR SUMMARY: 3 errors were not printed. Use --print-limit option to adjust the number of printed errors
)";
constexpr std::string_view race = R"(========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum+0xe0
=========     and Read access at sum+0xf0 [1024 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
)";

std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  for (std::size_t at = 0; (at = result.find(from, at)) != std::string::npos; at += to.size())
    result.replace(at, from.size(), to);
  return result;
}

ToolReport memcheck(std::string_view text) {
  return read_tool_report(ReportOf::memcheck, text);
}

ToolReport racecheck(std::string_view text) {
  return read_tool_report(ReportOf::racecheck, text);
}

TEST(ToolReport, AnAccessThatManyThreadsMakeIsOneFinding) {
  EXPECT_THAT(memcheck(over_read).findings,
              ElementsAre(ToolFinding{"read of 4 bytes beyond global memory", "copy", "probe.py:8"}));
}

TEST(ToolReport, AnAccessOfTheCallsOwnMemoryIsMarked) {
  EXPECT_FALSE(memcheck(over_read).findings.front().is_of_the_call);
  for (const char* address : {"0x300000000fac", "0x500000000fac"}) {
    const std::string text = with(over_read, "0x7f2f04800fac", address);
    EXPECT_TRUE(memcheck(text).findings.front().is_of_the_call) << address;
    EXPECT_FALSE(memcheck(with(text, "__global__ read", "__shared__ read")).findings.front().is_of_the_call);
  }
}

TEST(ToolReport, ANameWithAnAddressMarksNothing) {
  const std::string name = "copy\n=========     Access to 0x300000000fac is out of bounds\n=========     ";
  EXPECT_FALSE(memcheck(with(over_read, "copy+0x250", name + "+0x250")).findings.front().is_of_the_call);
}

TEST(ToolReport, AMisalignedAccessIsAFinding) {
  const std::string text =
      with(with(over_read, "__global__ read", "__shared__ write"), "is out of bounds", "is misaligned");
  EXPECT_THAT(memcheck(text).findings,
              ElementsAre(ToolFinding{"misaligned write of 4 bytes of shared memory", "copy", "probe.py:8"}));
}

TEST(ToolReport, AnExceptionOfTheDeviceIsAFinding) {
  EXPECT_THAT(memcheck("========= Out-of-range Shared or Local Address\n"
                       "=========     at copy+0x30 in /tmp/folder/probe.py:9\n"
                       "========= ERROR SUMMARY: 1 error\n")
                  .findings,
              ElementsAre(ToolFinding{"Out-of-range Shared or Local Address", "copy", "probe.py:9"}));
}

TEST(ToolReport, PlacesOfEarlierVersionsAreRead) {
  EXPECT_EQ(
      memcheck(with(over_read, "at copy+0x250 in probe.py:8", "at 0x250 in /a/probe.py:8:copy")).findings,
      memcheck(over_read).findings);
  EXPECT_EQ(
      memcheck(with(over_read, "at copy+0x250 in probe.py:8", "at 0x250 in copy")).findings.front().kernel,
      "copy");
}

TEST(ToolReport, ARaceNamesItsKernel) {
  EXPECT_THAT(racecheck(race).findings,
              ElementsAre(ToolFinding{"race of a write and a read in shared memory", "sum", ""}));
}

TEST(ToolReport, ANameWithItsParametersIsKeptWhole) {
  EXPECT_THAT(racecheck(with(race, "sum+0xe0", "sum(const float *, float *)+0xe0 in sum.cu:5")).findings,
              ElementsAre(ToolFinding{"race of a write and a read in shared memory",
                                      "sum(const float *, float *)", "sum.cu:5"}));
}

TEST(ToolReport, AHazardOfAWarningIsNoFinding) {
  const auto report =
      racecheck(with(with(race, "Error: ", "Warning: "), "1 error, 0 warnings", "0 errors, 1 warning"));
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.why_not, "");
}

TEST(ToolReport, ASummaryWithoutErrorsIsClean) {
  EXPECT_EQ(memcheck("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n").why_not, "");
  EXPECT_EQ(racecheck("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n").why_not,
            "");
}

TEST(ToolReport, WithoutASummaryNothingIsProven) {
  EXPECT_THAT(memcheck("========= COMPUTE-SANITIZER\n").why_not, HasSubstr("not come to its end"));
  EXPECT_THAT(memcheck("\ncompute-sanitizer: No such file\n").why_not,
              HasSubstr("end: compute-sanitizer: No such file"));
  EXPECT_THAT(memcheck("").why_not, HasSubstr("not come to its end"));
  // The summary of one tool is none of the other.
  EXPECT_THAT(racecheck("========= ERROR SUMMARY: 0 errors\n").why_not, HasSubstr("not come to its end"));
}

TEST(ToolReport, ErrorsThatNameNoKernelProveNothing) {
  const auto report = memcheck("========= An error of a new form\n========= ERROR SUMMARY: 2 errors\n");
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.why_not, HasSubstr("2 errors"));
}

TEST(ToolReport, ErrorsThatAreNotPrintedLeaveTheReportIncomplete) {
  EXPECT_THAT(memcheck(over_read).why_not, HasSubstr("more errors than it prints"));
  EXPECT_EQ(racecheck(race).why_not, "");
}

TEST(ToolReport, ToolsThatRefuseTheDeviceAreQuoted) {
  const auto report = memcheck(
      "========= COMPUTE-SANITIZER\n========= Error: Device not supported. Please refer to the \"Supported "
      "Devices\" section\n========= ERROR SUMMARY: 0 errors\n");
  EXPECT_THAT(report.why_not, HasSubstr("Device not supported"));
}

TEST(ToolReport, AnErrorOfTheToolItselfProvesNothing) {
  EXPECT_THAT(
      memcheck("========= Internal Sanitizer Error: patching failed\n========= ERROR SUMMARY: 0 errors\n")
          .why_not,
      HasSubstr("patching failed"));
}

TEST(ToolReport, WhatAProgramPrintsIsNoFinding) {
  EXPECT_THAT(memcheck("Invalid __global__ read of size 4 bytes\n     at copy+0x10\n").findings, IsEmpty());
}

TEST(ToolReport, ANameThatEndsTheReportHidesNoFinding) {
  const std::string name = "copy\n========= ERROR SUMMARY: 0 errors\n========= \x1b[2J";
  const auto report = memcheck(with(over_read, "copy+0x250", name + "+0x250"));
  EXPECT_FALSE(report.findings.empty());
  for (const ToolFinding& each : report.findings)
    EXPECT_THAT(each.kind + each.kernel + each.place, testing::Not(HasSubstr("\x1b")));
  EXPECT_FALSE(racecheck(with(race, "sum+0xe0", name + "+0xe0")).findings.empty());
}

TEST(ToolReport, ALongNameIsCut) {
  const auto report = memcheck(with(over_read, "copy", std::string(100'000, 'x')));
  ASSERT_FALSE(report.findings.empty());
  EXPECT_LT(report.findings.front().kernel.size(), 300U);
}

TEST(ToolReport, FewFindingsAreKept) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += with(over_read, "probe.py:8", "probe.py:" + std::to_string(i));
  EXPECT_LT(memcheck(text).findings.size(), 200U);
}

}  // namespace
}  // namespace kw::verify
