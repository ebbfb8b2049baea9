// compile_labels against helpers that are shell scripts and misbehave.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "dataset/labels/labels.h"

namespace kw::labels {
namespace {

namespace fs = std::filesystem;
using corpus::CompileLabel;

class Compile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("kernelwright-helper-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    options_.python = (folder_ / "python").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void helper(const std::string& script) {
    std::ofstream(options_.python) << "#!/bin/sh\n" << script;
    ::chmod(options_.python.c_str(), 0755);
  }

  static std::vector<corpus::Unit> kernels(std::size_t count) {
    std::vector<corpus::Unit> units(count);
    for (std::size_t i = 0; i < count; ++i) {
      units[i].kind = corpus::UnitKind::triton;
      units[i].name = "k" + std::to_string(i);
    }
    return units;
  }

  fs::path folder_;
  CompileOptions options_;
};

constexpr const char* ready = "echo '{\"triton\":\"3.6.0\",\"error\":null}'\n";
constexpr const char* each_fails =
    "while read -r n rest; do printf '{\"number\":%s,\"how\":\"answered\",\"answer\":\"{\\\\\"compile\\\\\":"
    "\\\\\"fails\\\\\",\\\\\"reason\\\\\":\\\\\"r\\\\\",\\\\\"compiled_for\\\\\":[]}\"}\\n' \"$n\"; done\n";

TEST_F(Compile, EachUnitGetsItsAnswer) {
  helper(std::string(ready) + each_fails);
  auto labels = compile_labels(kernels(3), options_);
  ASSERT_TRUE(labels) << labels.error().what;
  for (const corpus::Labels& each : *labels) EXPECT_EQ(each.compile, CompileLabel::fails);
}

TEST_F(Compile, EqualUnitsAreCompiledOnce) {
  helper(std::string(ready) + each_fails);
  std::size_t jobs = 0;
  options_.progress = [&](std::size_t, std::size_t of) { jobs = of; };
  auto units = kernels(1);
  units.push_back(units.front());
  auto labels = compile_labels(units, options_);
  ASSERT_TRUE(labels);
  EXPECT_EQ(jobs, 1U);
  EXPECT_EQ(labels->back().compile, CompileLabel::fails);
}

TEST_F(Compile, AHelperThatEndsEarlyIsStartedAgainAndThenAnError) {
  helper(std::string("echo start >> ") + (folder_ / "starts").string() + "\n" + ready +
         "echo 'out of luck' >&2\n");
  auto labels = compile_labels(kernels(1), options_);
  ASSERT_FALSE(labels);
  EXPECT_NE(labels.error().what.find("out of luck"), std::string::npos);
  EXPECT_EQ(fs::file_size(folder_ / "starts"), 3 * 6U);
}

TEST_F(Compile, AnAnswerNobodyAskedForIsAnError) {
  helper(std::string(ready) +
         "echo '{\"number\":99,\"how\":\"answered\",\"answer\":\"\"}'\ncat >/dev/null\n");
  EXPECT_FALSE(compile_labels(kernels(1), options_));
}

TEST_F(Compile, WhatCannotBeConfinedIsAnError) {
  helper("echo '{\"triton\":\"3.6.0\",\"error\":\"no library\"}'\n");
  auto labels = compile_labels(kernels(1), options_);
  ASSERT_FALSE(labels);
  EXPECT_NE(labels.error().remedy.find("--allow-unsandboxed"), std::string::npos);
}

TEST_F(Compile, AMissingPythonIsAnError) {
  options_.python = (folder_ / "none").string();
  EXPECT_FALSE(compile_labels(kernels(1), options_));
}

TEST_F(Compile, StopEndsIt) {
  helper(std::string(ready) + "exec sleep 60\n");
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  options_.stop = [end] { return std::chrono::steady_clock::now() > end; };
  auto labels = compile_labels(kernels(1), options_);
  ASSERT_FALSE(labels);
  EXPECT_EQ(labels.error().what, "stopped");
}

TEST_F(Compile, MuchWorkForAHelperThatNeverReadsDoesNotHang) {
  helper(std::string(ready) + "exec sleep 60\n");
  auto units = kernels(200);
  for (corpus::Unit& unit : units) unit.text.assign(10'000, 'x');
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  options_.stop = [end] { return std::chrono::steady_clock::now() > end; };
  EXPECT_FALSE(compile_labels(units, options_));
}

TEST_F(Compile, WithoutKernelsNothingIsStarted) {
  std::vector<corpus::Unit> units(1);
  units.front().kind = corpus::UnitKind::torch;
  auto labels = compile_labels(units, options_);
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->front().compile, CompileLabel::not_tried);
}

TEST_F(Compile, AHugeKernelIsNotTried) {
  auto units = kernels(1);
  units.front().context.assign(std::size_t{5} << 20, 'x');
  auto labels = compile_labels(units, options_);
  ASSERT_TRUE(labels);
  EXPECT_EQ(labels->front().compile_reason, "too large");
}

}  // namespace
}  // namespace kw::labels
