#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "options/input_flags.h"
#include "options/parse.h"
#include "options/shared_flags.h"
#include "options/verdict_table_flags.h"
#include "support/home.h"
#include "support/world.h"

namespace kw {
namespace {

using testing::HasSubstr;

struct Words {
  Settings settings;
  OutputFlags output;
  InputFlags input;
  VerdictTableFlags table;

  // The error about the arguments, or "".
  std::string parse(std::vector<std::string> words) {
    CLI::App app;
    add_settings(app, settings);
    output.add(app);
    input.add(app);
    table.add(app);
    std::ranges::reverse(words);  // CLI11 takes a vector in reverse
    try {
      app.parse(words);
    } catch (const CLI::Error& error) {
      return error.what();
    }
    return {};
  }
};

TEST(Flags, Defaults) {
  Words words;
  EXPECT_EQ(words.parse({"a", "b"}), "");
  EXPECT_EQ(words.settings.correctness_trials, 5U);
  EXPECT_EQ(words.settings.timing_trials, 100U);
  EXPECT_TRUE(words.settings.move_weights);
  EXPECT_TRUE(words.input.is_pair());
}
TEST(Flags, TheViewIsOfATable) {
  Words words;
  EXPECT_EQ(words.parse({"--only", "failed,compile_error", "--show-output"}), "");
  EXPECT_EQ(words.table.only.words, (std::vector<std::string>{"failed", "compile_error"}));
  EXPECT_TRUE(words.table.show_output);
  EXPECT_THAT(Words().parse({"--only", "faild"}), HasSubstr("--only: \"faild\" is none of failed, right"));
  EXPECT_THAT(Words().parse({"--only", "failed", "--json"}), HasSubstr("excludes"));
  EXPECT_THAT(Words().parse({"--show-output", "--quiet"}), HasSubstr("excludes"));
}
TEST(Flags, Values) {
  Words words;
  EXPECT_EQ(words.parse({"--device", "cuda:1", "--tolerance", "rtol=1e-3,atol=0.1", "--weights",
                         "constructor", "--tf32", "on", "--memory", "2G", "--limit", "3", "--min-trust",
                         "in-process", "--shapes", "given"}),
            "");
  EXPECT_EQ(words.settings.devices.ordinal, 1);
  EXPECT_EQ(words.settings.tolerance.name, "custom");
  EXPECT_EQ(words.settings.tolerance.atol, 0.1);
  EXPECT_FALSE(words.settings.move_weights);
  EXPECT_FALSE(words.settings.reduce_shapes);
  EXPECT_TRUE(words.settings.tf32);
  EXPECT_EQ(words.settings.memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(words.output.limit, 3U);
  EXPECT_EQ(words.settings.min_trust, Trust::in_process);
}

class BadWords : public testing::TestWithParam<std::pair<std::vector<std::string>, std::string>> {};

TEST_P(BadWords, NameTheFlagAndWhatIsAllowed) {
  Words words;
  std::string message = words.parse(GetParam().first);
  EXPECT_THAT(message, HasSubstr(GetParam().first.front()));
  EXPECT_THAT(message, HasSubstr(GetParam().second));
}

using Bad = std::pair<std::vector<std::string>, std::string>;
INSTANTIATE_TEST_SUITE_P(
    Flags, BadWords,
    testing::Values(Bad{{"--device", "tpu"}, "cuda:N"}, Bad{{"--jobs", "many"}, "whole number"},
                    Bad{{"--jobs", "0"}, "from 1"}, Bad{{"--timeout", "-1"}, "above 0"},
                    Bad{{"--tolerance", "rtol=1"}, "rtol=R,atol=A"}, Bad{{"--precision", "fp8"}, "bf16"},
                    Bad{{"--tf32", "yes"}, "on, off"}, Bad{{"--weights", "heavy"}, "constructor"},
                    Bad{{"--min-trust", "interpreter"}, "replay"}, Bad{{"--memory", "lots"}, "size"},
                    Bad{{"--memory", "1M"}, "less than 64M"}, Bad{{"--input-shapes", "[1]"}, "input_shapes"},
                    Bad{{"--input-shapes", "@/no/such"}, "/no/such"}));

TEST(Flags, FreshNeedsAnOutput) {
  Words words;
  EXPECT_THAT(words.parse({"--fresh"}), HasSubstr("--output"));
}
TEST(Flags, InputShapesFromAFile) {
  Folder folder;
  Words words;
  EXPECT_EQ(words.parse({"--input-shapes", "@" + folder.write("s.json", R"({"x":{"shape":[1]}})")}), "");
  EXPECT_EQ(words.input.input_shapes, R"({"x":{"shape":[1]}})");
}
TEST(Flags, NothingToJudgeIsAnError) {
  EXPECT_THAT(InputFlags{}.open({}).error().what, HasSubstr("nothing to judge"));
}
TEST(Flags, TwoThingsToJudgeAreAnError) {
  InputFlags input;
  input.batch = "a";
  input.traces = "b";
  EXPECT_THAT(input.open({}).error().what, HasSubstr("more than one"));
}
TEST(Flags, FlagsOfAPairNeedAPair) {
  for (auto flag : {&InputFlags::input_shapes, &InputFlags::entry_point, &InputFlags::kernel_entry,
                    &InputFlags::kernel_name}) {
    InputFlags input;
    input.batch = "rows.jsonl";
    input.*flag = "given";
    auto source = input.open({});
    ASSERT_FALSE(source);
    EXPECT_THAT(source.error().what, HasSubstr("belongs to a pair"));
    EXPECT_TRUE(source.error().is_usage);
  }
}
TEST(Flags, AMissingFileIsNoWrongUse) {
  InputFlags input;
  input.paths = {"/no/such/reference.py", "/no/such/kernel.py"};
  EXPECT_FALSE(input.open({}).error().is_usage);
}
TEST(Flags, APairOpens) {
  InputFlags input;
  input.paths = {source_file("examples/pair/reference.py"), source_file("examples/pair/kernel.py")};
  input.kernel_name = "mine";
  auto source = input.open({});
  ASSERT_TRUE(source) << source.error().what;
  auto next = (*source)->next();
  ASSERT_TRUE(next && *next);
  EXPECT_EQ(std::get<Job>(**next).candidate.kernel_name, "mine");
}
TEST(Flags, Sizes) {
  EXPECT_EQ(parse_bytes("65536").value(), 65536U);
  EXPECT_EQ(parse_bytes("1k").value(), 1024U);
  EXPECT_FALSE(parse_bytes("99999999999T"));
  EXPECT_FALSE(parse_bytes(""));
}

}  // namespace
}  // namespace kw
