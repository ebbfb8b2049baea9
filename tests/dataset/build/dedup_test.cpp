#include "dataset/build/dedup.h"

#include <gtest/gtest.h>

#include "world.h"

namespace kw::dataset {
namespace {

DedupSettings dedup_settings(const World& world, std::vector<std::string> files) {
  DedupSettings settings;
  settings.files = std::move(files);
  settings.out = world.folder() / "kept.jsonl";
  settings.evidence = world.folder() / "evidence.jsonl";
  settings.spill = world.folder() / "spill";
  std::filesystem::create_directories(settings.spill);
  return settings;
}

TEST(Dedup, KeepsRowsThatAreAloneAsTheyStand) {
  World world;
  std::string text =
      row("a", code(1)) + "{\"completion\": \"" + code(2) + "\",  \"prompt\": \"b\", \"extra\": 1}\n";
  auto tally = dedup(dedup_settings(world, {world.write("rows.jsonl", text)}), {});
  ASSERT_TRUE(tally) << tally.error().what;
  EXPECT_EQ(world.read("kept.jsonl"), text);
}

TEST(Dedup, DropsEqualRowsButForSpaces) {
  World world;
  auto file = world.write("rows.jsonl", row("a b", code(1)) + row(" a  b ", code(1)));
  auto tally = dedup(dedup_settings(world, {file}), {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->exact, 1U);
  EXPECT_EQ(world.read("kept.jsonl"), row("a b", code(1)));
}

TEST(Dedup, DropsANearRowAndSaysWhichStands) {
  World world;
  auto file = world.write("rows.jsonl", row("p", code(1)) + row("p", code(2)) + row("p", code(1, 2)));
  auto tally = dedup(dedup_settings(world, {file}), {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->near, 1U);
  EXPECT_NE(world.read("evidence.jsonl").find("rows.jsonl, row 3"), std::string::npos);
  EXPECT_NE(world.read("evidence.jsonl").find("rows.jsonl, row 1"), std::string::npos);
}

TEST(Dedup, KeepsRowsWithOnePromptAndOtherCompletions) {
  World world;
  auto file = world.write("rows.jsonl", row(code(1), "return first_thing(of, these)") +
                                            row(code(1), "return quite(another) + thing"));
  auto tally = dedup(dedup_settings(world, {file}), {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->kept, 2U);
}

TEST(Dedup, DropsWhatTheOtherFileHas) {
  World world;
  auto own = dedup_settings(
      world, {world.write("a.jsonl", row("p", code(1)) + row("p", code(2)) + row("p", code(3)))});
  own.against = {world.write("b.jsonl", row("p", code(2)) + row("p", code(3, 1)) + row("p", code(3, 2)))};
  auto tally = dedup(own, {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->kept, 1U);
  EXPECT_EQ(world.read("kept.jsonl"), row("p", code(1)));
}

TEST(Dedup, RemembersSketches) {
  World world;
  auto own = dedup_settings(world, {world.write("a.jsonl", row("p", code(1)) + row("p", code(2)))});
  own.index = world.folder() / "index";
  ASSERT_TRUE(dedup(own, {}));
  own.files.push_back(world.write("b.jsonl", row("p", code(2, 1)) + row("p", code(4))));
  auto tally = dedup(own, {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->kept, 3U);
  EXPECT_LT(tally->sketched_bytes, tally->bytes * 6 / 10);
}

TEST(Dedup, GivesTheSameBytesForAnyNumberOfThreads) {
  World world;
  std::string text;
  for (int i = 0; i < 120; ++i) text += row("p", code(i % 40, i % 3));
  auto own = dedup_settings(world, {world.write("rows.jsonl", text)});
  ASSERT_TRUE(dedup(own, {}));
  std::string one = world.read("kept.jsonl") + world.read("evidence.jsonl");
  own.threads = 4;
  ASSERT_TRUE(dedup(own, {}));
  EXPECT_EQ(world.read("kept.jsonl") + world.read("evidence.jsonl"), one);
}

TEST(Dedup, PassesOverBadRowsAndSaysSo) {
  World world;
  auto tally =
      dedup(dedup_settings(world, {world.write("rows.jsonl", "{not json\n" + row("p", code(1)))}), {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->bad_rows, 1U);
  ASSERT_EQ(tally->bad.size(), 1U);
  EXPECT_NE(tally->bad[0].find("row 1"), std::string::npos);
}

TEST(Dedup, WritesRowsOfOneFormInAnother) {
  World world;
  auto own =
      dedup_settings(world, {world.write("rows.csv", "prompt,completion,more\na,\"x, \"\"y\"\"\",1\n")});
  ASSERT_TRUE(dedup(own, {}));
  EXPECT_EQ(world.read("kept.jsonl"), "{\"prompt\":\"a\",\"completion\":\"x, \\\"y\\\"\",\"more\":\"1\"}\n");
}

TEST(Dedup, KeepsTheLongestIfAsked) {
  World world;
  auto own = dedup_settings(
      world, {world.write("rows.jsonl", row("p", code(1)) + row("p", code(1) + "a = b + c\\n"))});
  own.keep = Keep::longest;
  ASSERT_TRUE(dedup(own, {}));
  EXPECT_EQ(world.read("kept.jsonl"), row("p", code(1) + "a = b + c\\n"));
}

TEST(Dedup, NamesAFileThatIsNotThere) {
  World world;
  auto tally = dedup(dedup_settings(world, {(world.folder() / "none.jsonl").string()}), {});
  ASSERT_FALSE(tally);
  EXPECT_NE(tally.error().what.find("none.jsonl"), std::string::npos);
}

const std::string sum =
    "def total(x, n):\\n    acc = 0\\n    for i in range(n):\\n        acc += x[i]\\n    return acc\\n";
const std::string renamed_sum =
    "def s(v, k):\\n    # adds up\\n    t = 0\\n    for j in range(k):\\n        t += v[j]\\n    return t\\n";

TEST(Dedup, DropsRowsThatDifferInCommentsAndNames) {
  World world;
  auto file = world.write("rows.jsonl", row("import numpy\\n", sum) + row("import numpy\\n", renamed_sum));
  auto own = dedup_settings(world, {file});
  auto tally = dedup(own, {});
  ASSERT_TRUE(tally) << tally.error().what;
  EXPECT_EQ(tally->renamed, 1U);
  EXPECT_EQ(world.read("kept.jsonl"), row("import numpy\\n", sum));
  EXPECT_NE(world.read("evidence.jsonl").find("\"renamed\""), std::string::npos);
  own.near_too = false;
  auto exact_only = dedup(own, {});
  ASSERT_TRUE(exact_only);
  EXPECT_EQ(exact_only->kept, 2U);
}

TEST(Dedup, DropsTheRenamedRowThatTheOtherFileHas) {
  World world;
  auto own = dedup_settings(world, {world.write("a.jsonl", row("p", sum) + row("p", sum))});
  own.against = {world.write("b.jsonl", row("p", renamed_sum))};
  auto tally = dedup(own, {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->kept, 0U);
  EXPECT_EQ(tally->exact, 1U);
  EXPECT_EQ(world.read("evidence.jsonl").find("\"duplicate_of\":\"a.jsonl"), std::string::npos);
}

TEST(Dedup, KeepsRowsWhereAWordIsTheMeaning) {
  World world;
  const std::string code_of = "def f(x):\\n    return x\\n";
  std::string text = row("Write the largest value", sum) + row("Write the smallest value", renamed_sum);
  text += row(code_of, "right") + row(code_of, "wrong");
  text += row(code_of, "This kernel sums its long row, then writes it, then ends, correctly");
  text += row(code_of, "That module takes one wide tile, but reads it, but stalls, badly");
  text += row("p", "y = g(x) + g(x) * g(x)") + row("p", "y = h(x) + h(x) * h(x)");
  auto tally = dedup(dedup_settings(world, {world.write("rows.jsonl", text)}), {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->renamed, 0U);
}

}  // namespace
}  // namespace kw::dataset
