#include "options/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/core/words.h"
#include "options/document.h"
#include "options/parse.h"
#include "support/world.h"

namespace kw {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A verb with one option of every kind in the program.
struct Program {
  CLI::App app{"", "kernelwright"};
  CLI::App* verb = app.add_subcommand("run");
  std::vector<std::string> paths;
  std::vector<std::string> levels;
  std::string url = "http://here";
  std::string output = "traces.json";
  std::string api_key;
  std::uint64_t batch_size = 10;
  double speedup = 1;
  std::string kwargs;
  bool multi_turn = false;
  bool stream = true;
  bool fresh = false;
  bool quiet = false;
  bool verbose = false;

  Program() {
    app.require_subcommand(1);
    add_config(*verb);
    verb->add_option("PATH", paths)->expected(0, 2);
    verb->add_option("--levels", levels);
    verb->add_option("--vllm-url", url)->envname("KW_TEST_URL");
    CLI::Option* file = verb->add_option("--output", output);
    verb->add_option("--api-key", api_key);
    add_parsed<std::uint64_t>(
        *verb, "--batch-size", batch_size, [](const std::string& text) { return parse_whole(text, 1, 99); },
        "");
    add_parsed<double>(*verb, "--target-speedup", speedup, parse_positive, "");
    verb->add_option("--chat-template-kwargs", kwargs)->type_name("JSON");
    verb->add_flag("--multi-turn", multi_turn);
    verb->add_flag("!--no-stream", stream);
    verb->add_flag("--fresh", fresh)->needs(file);
    CLI::Option* less = verb->add_flag("--quiet,-q", quiet);
    verb->add_flag("--verbose,-v", verbose)->excludes(less);
  }

  // The error, or "".
  std::string parse(std::vector<std::string> words) {
    std::vector<const char*> argv{"kernelwright", "run"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    try {
      parse_arguments(app, static_cast<int>(argv.size()), argv.data());
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return {};
  }
};

class Config : public testing::Test {
 protected:
  std::string file(const std::string& text) { return folder_.write("run.toml", text); }
  // The error about a file with this text.
  std::string complaint(const std::string& text) { return Program().parse({"--config", file(text)}); }
  ~Config() override {
    ::unsetenv("KW_TEST_URL");
    ::unsetenv("KERNELWRIGHT_CONFIG");
  }

 private:
  Folder folder_;
};

TEST_F(Config, FillsEverySortOfOption) {
  Program program;
  ASSERT_EQ(
      program.parse({"--config", file("path = ['a.py', 'b.py']\n"
                                      "[source]\nlevels = [1, 2]\n"
                                      "[model]\nvllm-url = 'http://file'\nbatch_size = 20\n"
                                      "chat-template-kwargs = {enable_thinking = false}\nno-stream = true\n"
                                      "[loop]\nmulti-turn = true\ntarget-speedup = 1.5\n")}),
      "");
  EXPECT_THAT(program.paths, ElementsAre("a.py", "b.py"));
  EXPECT_THAT(program.levels, ElementsAre("1", "2"));
  EXPECT_EQ(program.url, "http://file");
  EXPECT_EQ(program.batch_size, 20U);
  EXPECT_THAT(program.kwargs, AllOf(HasSubstr("enable_thinking"), HasSubstr("false")));
  EXPECT_FALSE(program.stream);
  EXPECT_TRUE(program.multi_turn);
  EXPECT_EQ(program.speedup, 1.5);
}
TEST_F(Config, AFlagBeatsTheFile) {
  Program program;
  ASSERT_EQ(program.parse({"--batch-size", "3", "--config", file("batch-size = 20")}), "");
  EXPECT_EQ(program.batch_size, 3U);
}
TEST_F(Config, ListsAreReplacedNotJoined) {
  Program program;
  ASSERT_EQ(program.parse({"--levels", "3", "--config", file("levels = [1, 2]")}), "");
  EXPECT_THAT(program.levels, ElementsAre("3"));
}
TEST_F(Config, TheEnvironmentBeatsTheFile) {
  ::setenv("KW_TEST_URL", "http://environment", 1);
  Program program;
  ASSERT_EQ(program.parse({"--config", file("vllm-url = 'http://file'")}), "");
  EXPECT_EQ(program.url, "http://environment");
}
TEST_F(Config, AFlagBeatsTheEnvironment) {
  ::setenv("KW_TEST_URL", "http://environment", 1);
  Program program;
  ASSERT_EQ(program.parse({"--vllm-url", "http://flag", "--config", file("vllm-url = 'http://file'")}), "");
  EXPECT_EQ(program.url, "http://flag");
}
TEST_F(Config, TheFileCanBeNamedByTheEnvironment) {
  ::setenv("KERNELWRIGHT_CONFIG", file("batch-size = 7").c_str(), 1);
  Program program;
  ASSERT_EQ(program.parse({}), "");
  EXPECT_EQ(program.batch_size, 7U);
}
TEST_F(Config, AFalseFlagIsItsDefault) {
  Program program;
  ASSERT_EQ(program.parse({"--config", file("multi-turn = false\nno-stream = false")}), "");
  EXPECT_FALSE(program.multi_turn);
  EXPECT_TRUE(program.stream);
}
TEST_F(Config, WhatTheCommandLineNeedsMayStandInTheFile) {
  Program program;
  EXPECT_EQ(program.parse({"--fresh", "--config", file("output = 'x.json'")}), "");
  EXPECT_TRUE(program.fresh);
}
TEST_F(Config, WhatIsNeededAndNowhereIsMissed) {
  EXPECT_THAT(Program().parse({"--fresh", "--config", file("batch-size = 2")}), HasSubstr("--output"));
  EXPECT_THAT(complaint("fresh = true"), HasSubstr("--output"));
}
TEST_F(Config, AWordTooMuchIsStillAnError) {
  EXPECT_THAT(Program().parse({"--fresh", "--nonsense", "--config", file("output = 'x.json'")}),
              HasSubstr("--nonsense"));
}
TEST_F(Config, WhatTheCommandLineExcludesIsPassedOver) {
  Program program;
  ASSERT_EQ(program.parse({"--quiet", "--config", file("verbose = true")}), "");
  EXPECT_FALSE(program.verbose);
}
TEST_F(Config, ExclusionWithinTheFileIsAnError) {
  EXPECT_THAT(complaint("verbose = true\nquiet = true"), HasSubstr("excludes"));
}
TEST_F(Config, AnUnknownKeyNamesFileLineAndTheNearest) {
  EXPECT_THAT(complaint("# a comment\nbatchsize = 3"),
              AllOf(HasSubstr("run.toml:2: batchsize"), HasSubstr("do you mean batch-size?")));
}
TEST_F(Config, AKeyLikeNoneSaysWhereTheyAreListed) {
  EXPECT_THAT(complaint("wholly-other = 3"), HasSubstr("`kernelwright run --help`"));
}
TEST_F(Config, AKeyOfAnUnknownTableIsNamed) {
  EXPECT_THAT(complaint("[a.b]\nnope = 1"), HasSubstr(":2: nope"));
}
TEST_F(Config, WrongTypesNameTheLine) {
  EXPECT_THAT(complaint("\nmulti-turn = 'yes'"),
              AllOf(HasSubstr(":2: multi-turn"), HasSubstr("true or false")));
  EXPECT_THAT(complaint("batch-size = true"),
              AllOf(HasSubstr(":1: batch-size"), HasSubstr("a string or a number")));
  EXPECT_THAT(complaint("batch-size = [1]"), HasSubstr("not a list"));
  EXPECT_THAT(complaint("path = ['a', 'b', 'c']"), HasSubstr("2 values at most"));
  EXPECT_THAT(complaint("output = 2024-01-01"), HasSubstr(":1: output"));
}
TEST_F(Config, ARefusedValueNamesTheLine) {
  EXPECT_THAT(complaint("\n\nbatch-size = 1000"), AllOf(HasSubstr("run.toml:3:"), HasSubstr("--batch-size")));
}
TEST_F(Config, AKeySetTwiceIsAnError) {
  EXPECT_THAT(complaint("[a]\nbatch-size = 1\n[b]\nbatch_size = 2"),
              AllOf(HasSubstr(":4:"), HasSubstr("twice")));
}
TEST_F(Config, BrokenTomlNamesTheLine) {
  EXPECT_THAT(complaint("a = 1\nb = = 2"), HasSubstr("run.toml:2:"));
}
TEST_F(Config, AMissingFileIsNamed) {
  EXPECT_THAT(Program().parse({"--config", "/no/such.toml"}), HasSubstr("/no/such.toml"));
}
TEST_F(Config, AFileCannotNameAnother) {
  EXPECT_THAT(complaint("config = 'x'"), HasSubstr("config"));
}
TEST_F(Config, HelpStillHelps) {
  Program program;
  const char* argv[] = {"kernelwright", "run", "--help"};
  EXPECT_THROW(parse_arguments(program.app, 3, argv), CLI::CallForHelp);
}

TEST_F(Config, TheResolvedFormRoundTrips) {
  Program first;
  ASSERT_EQ(
      first.parse({"a.py", "b.py", "--batch-size", "3", "--levels", "1", "2", "--no-stream",
                   "--target-speedup", "1.25", "--chat-template-kwargs", R"({"a": "quoted \"text\""})"}),
      "");
  Program second;
  ASSERT_EQ(second.parse({"--config", file(resolved_toml(*first.verb))}), "");
  EXPECT_EQ(resolved_values(*first.verb), resolved_values(*second.verb));
  EXPECT_THAT(second.paths, ElementsAre("a.py", "b.py"));
  EXPECT_EQ(second.kwargs, first.kwargs);
  EXPECT_FALSE(second.stream);
  EXPECT_EQ(second.speedup, 1.25);
}
TEST_F(Config, ResolvedValuesHoldDefaultsThatAreKnown) {
  Program program;
  ASSERT_EQ(program.parse({"--quiet"}), "");
  boost::json::object values = resolved_values(*program.verb);
  EXPECT_EQ(values["output"], "traces.json");
  EXPECT_EQ(values["quiet"], true);
  EXPECT_EQ(values["no-stream"], false);
  EXPECT_FALSE(values.contains("batch-size"));  // the flag group sets its default
  EXPECT_FALSE(values.contains("config"));
}
TEST_F(Config, WhatTheFileSetIsResolvedToo) {
  Program program;
  ASSERT_EQ(program.parse({"--config", file("batch-size = 20\nno-stream = true")}), "");
  EXPECT_EQ(resolved_values(*program.verb)["batch-size"], 20);
  EXPECT_EQ(resolved_values(*program.verb)["no-stream"], true);
}
TEST_F(Config, SecretsAreNotWritten) {
  Program program;
  ASSERT_EQ(program.parse({"--api-key", "hush"}), "");
  EXPECT_THAT(resolved_toml(*program.verb), Not(HasSubstr("hush")));
}
TEST_F(Config, NamesThatLookLikeNumbersStayAsTheyAre) {
  Program program;
  ASSERT_EQ(program.parse({"--output", "007"}), "");
  EXPECT_EQ(resolved_values(*program.verb)["output"], "007");
  Program again;
  ASSERT_EQ(again.parse({"--config", file(resolved_toml(*program.verb))}), "");
  EXPECT_EQ(again.output, "007");
}

TEST(Nearest, FindsAMisspeltWord) {
  EXPECT_EQ(nearest("max-turn", {"max-tokens", "max-turns"}), "max-turns");
  EXPECT_EQ(nearest("zzz", {"max-tokens"}), "");
}

}  // namespace
}  // namespace kw
