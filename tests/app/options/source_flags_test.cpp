#include "options/input_flags.h"

#include "loop/tasks/task_world.h"

namespace kw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parsed {
  SourceFlags flags;
  std::string error;
};

Parsed parse(std::vector<std::string> words) {
  Parsed parsed;
  CLI::App app;
  parsed.flags.add(app);
  std::ranges::reverse(words);  // CLI11 takes them in reverse
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    parsed.error = error.what();
  }
  return parsed;
}

TEST(SourceFlags, HaveTheCountsThatAreCustomary) {
  SourceFlags flags = parse({}).flags;
  EXPECT_EQ(flags.kernelbook_samples, 1500U);
  EXPECT_EQ(flags.kernelbench_samples, 1000U);
  EXPECT_FALSE(flags.shuffle);
}
TEST(SourceFlags, AKernelBookWithoutAFileIsTheHubs) {
  EXPECT_EQ(parse({"--kernelbook"}).flags.kernelbook, "hub");
  EXPECT_EQ(parse({"--kernelbook", "--shuffle"}).flags.kernelbook, "hub");
  EXPECT_EQ(parse({"--kernelbook", "hub@v1"}).flags.kernelbook, "hub@v1");
  EXPECT_EQ(parse({"--kernelbench", "DIR"}).flags.kernelbench, "DIR");
}
TEST(SourceFlags, PathsMayBeSeveral) {
  EXPECT_THAT(parse({"a.py", "b", "--limit", "3"}).flags.paths, ElementsAre("a.py", "b"));
}
TEST(SourceFlags, SampleIdsComeInARowOrWithCommas) {
  EXPECT_THAT(parse({"--sample-id", "a", "b,c", "--sample-id", "d"}).flags.sample_ids,
              ElementsAre("a", "b", "c", "d"));
}
TEST(SourceFlags, LevelsAreAList) {
  EXPECT_EQ(parse({"--levels", "1,3"}).flags.levels, (std::set<int>{1, 3}));
  for (const char* bad : {"0", "5", "1,", "1;2", "all"})
    EXPECT_THAT(parse({"--levels", bad}).error, HasSubstr("--levels")) << bad;
}
TEST(SourceFlags, ZeroSamplesAreAllowedAndZeroTasksAreNot) {
  EXPECT_EQ(parse({"--kernelbook-samples", "0"}).flags.kernelbook_samples, 0U);
  EXPECT_THAT(parse({"--limit", "0"}).error, HasSubstr("--limit"));
}
TEST(SourceFlags, OpenWhatTheyName) {
  Folder folder;
  Parsed parsed = parse({folder.write("k.jsonl", kernelbook_rows(3)), "--kernelbook-samples", "2"});
  EXPECT_THAT(tasks_of(parsed.flags).keys(), ElementsAre("kernelbook_0", "kernelbook_1"));
}

}  // namespace
}  // namespace kw
