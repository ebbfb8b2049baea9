// Every option of options.def, and every value of a few, through all forms of an option.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "types/options.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "options/shared_flags.h"
#include "serve/evaluation_json.h"
#include "verify/judge/protocol.h"

namespace kw {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

struct Changed {
  const Option* option;
  std::string text;  // on the command line
  Settings settings;
};

// For each option, the words that it accepts and that are not its default.
std::vector<Changed> changes() {
  std::vector<Changed> found;
  for (const Option* option : all_options())
    for (const char* text : {"7",           "0.5",
                             "3G",          "fp16",
                             "bf16",        "on",
                             "constructor", "triton",
                             "given",       "in-process",
                             "replay",      "eager,compile",
                             "seed",        "rtol=0.001,atol=0.25",
                             "all",         "cpu",
                             "cuda:1",      "/a/path",
                             "true",        "varied",
                             "report",      "racecheck,bounds"}) {
      Settings settings;
      if (option->read(text, settings) && settings != Settings{}) found.push_back({option, text, settings});
    }
  return found;
}

std::string protocol(Settings settings, Device device) {
  settings.device = device;
  return verify::protocol_hash(settings, {}, "");
}

Settings parsed(const Changed& change) {
  Settings settings;
  CLI::App app;
  add_settings(app, settings);
  const std::string flag(change.option->about.flag);
  app.parse(change.option->is_switch() ? flag : flag + " " + change.text);
  return settings;
}

TEST(Options, EachHasAValueThatIsNotItsDefault) {
  std::set<std::string_view> changed;
  for (const Changed& change : changes()) changed.insert(change.option->member);
  for (const Option* option : all_options()) EXPECT_TRUE(changed.contains(option->member)) << option->member;
}

TEST(Options, TheFlagSetsTheMemberAlone) {
  for (const Changed& change : changes()) {
    EXPECT_EQ(parsed(change), change.settings) << change.option->about.flag;
    for (const Option* other : all_options())
      EXPECT_EQ(other->text(change.settings) != other->text(Settings{}), other == change.option)
          << change.option->about.flag << " changes " << other->about.flag;
  }
}

TEST(Options, TextIsReadAsWhatWasWritten) {
  for (const Changed& change : changes()) {
    Settings again;
    ASSERT_TRUE(change.option->read(change.option->text(change.settings), again));
    EXPECT_EQ(again, change.settings) << change.option->about.flag;
  }
}

TEST(Options, AJobsTravelThroughARequestToTheServicesSettings) {
  for (const Changed& change : changes()) {
    std::string request = json::serialize(options_json(job_options(parsed(change))));
    auto read = service::read_options(json::parse(request));
    ASSERT_TRUE(read) << request;
    Settings there = with_options({}, *read);
    EXPECT_EQ(there, change.option->is_job_option() ? change.settings : Settings{}) << request;
  }
}

TEST(Options, EachMovesTheProtocolWhereItSaysSo) {
  for (const Changed& change : changes())
    for (Device device : {Device::cpu, Device::cuda}) {
      const InProtocol& in = change.option->about.protocol;
      bool moves = protocol(change.settings, device) != protocol({}, device);
      EXPECT_EQ(moves, device == Device::cpu ? in.cpu : in.cuda) << change.option->about.flag;
    }
}

TEST(Options, WhatIsLeftOutOfTheProtocolSaysWhy) {
  for (const Option* option : all_options()) {
    const InProtocol& in = option->about.protocol;
    EXPECT_EQ(!in.cpu && !in.cuda, !in.why_not.empty()) << option->about.flag;
    if (option->is_job_option()) EXPECT_TRUE(in.cuda) << option->about.flag;
  }
}

TEST(Options, TheCompiledBaselineIsPartOfAGpusProtocol) {
  Settings settings;
  settings.compile_baseline = true;
  EXPECT_NE(protocol(settings, Device::cuda), protocol({}, Device::cuda));
  EXPECT_EQ(protocol(settings, Device::cpu), protocol({}, Device::cpu));
}

TEST(Options, AJobsOwnGoBeforeThoseOfAll) {
  JobOptions all;
  all.correctness_trials = 3;
  all.tf32 = true;
  JobOptions own;
  own.correctness_trials = 9;
  JobOptions both = overlaid(all, own);
  EXPECT_EQ(both.correctness_trials, 9U);
  EXPECT_EQ(both.tf32, true);
  EXPECT_FALSE(both.precision);
}

TEST(Options, ABadFieldIsNamedAndSaysWhatIsAllowed) {
  auto refused = [](const char* text) {
    auto read = service::read_options(json::parse(text));
    return read ? "" : read.error().field + ": " + read.error().message;
  };
  EXPECT_EQ(refused(R"({"tf32": 1})"), "options.tf32: options.tf32 is neither true nor false");
  EXPECT_EQ(refused(R"({"timeout_s": 0})"),
            "options.timeout_s: options.timeout_s is not a number above 0 and at most 86400");
  EXPECT_EQ(refused(R"({"precision": "fp8"})"),
            "options.precision: options.precision is none of fp32, fp16, bf16");
  EXPECT_EQ(refused(R"({"tolerance": {"rtol": 1}})"),
            "options.tolerance: options.tolerance needs both rtol and atol");
  EXPECT_THAT(refused(R"({"tolerance": {"x": 1}})"), HasSubstr("options.tolerance.x is unknown"));
  EXPECT_THAT(refused(R"({"audit": 1})"), HasSubstr("options.audit is unknown: there are timeout_s, "));
}

TEST(Options, HelpHasTheDefault) {
  CLI::App app;
  Settings settings;
  add_settings(app, settings);
  EXPECT_THAT(app.help(), HasSubstr("time limit of a candidate, in seconds [180]"));
  EXPECT_THAT(app.help(), HasSubstr("memory limit of a candidate, like 8G [4G]"));
  EXPECT_THAT(app.help(), HasSubstr("[as many as"));
}

}  // namespace
}  // namespace kw
