#include "dataset/build/audit.h"

#include <gtest/gtest.h>

#include "world.h"

namespace kw::dataset {
namespace {

AuditSettings audit_settings(const World& world, std::vector<std::string> files) {
  AuditSettings settings;
  settings.files = std::move(files);
  settings.spill = world.folder() / "spill";
  settings.out = world.folder() / "audit";
  std::filesystem::create_directories(settings.spill);
  return settings;
}

TEST(Audit, FlagsNothingInRowsThatAreUnlike) {
  World world;
  auto tally = audit(
      audit_settings(world, {world.write("rows.jsonl", row("say one", code(1)) + row("say two", code(2)))}),
      {});
  ASSERT_TRUE(tally) << tally.error().what;
  EXPECT_EQ(tally->flagged, 0U);
}

TEST(Audit, FlagsBothOfTwoRowsThatShareTheirWords) {
  World world;
  auto tally =
      audit(audit_settings(world, {world.write("rows.jsonl", row("p", code(1)) + row("p", code(1, 1)))}), {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->relations.at("rows"), 2U);
}

std::string row_of_unit(const std::string& unit, const std::string& completion) {
  return R"({"unit":")" + unit + R"(","prompt":"p","completion":")" + completion + "\"}\n";
}

TEST(Audit, HolesOfOneFunctionMayShareTheirWords) {
  World world;
  const std::string first = row_of_unit("a", code(1));
  auto own = audit_settings(world, {world.write("rows.jsonl", first + row_of_unit("a", code(1, 1)))});
  EXPECT_EQ(audit(own, {})->flagged, 0U);
  own.files = {world.write("others.jsonl", first + row_of_unit("b", code(1, 1)))};
  EXPECT_EQ(audit(own, {})->relations.at("rows"), 2U);
  own.files = {world.write("train.jsonl", first)};
  own.validation = {world.write("validation.jsonl", row_of_unit("a", code(1, 1)))};
  EXPECT_EQ(audit(own, {})->relations.at("split"), 2U);
}

TEST(Audit, FlagsARowOfTheValidationThatIsInTheTrainingFile) {
  World world;
  auto own = audit_settings(world, {world.write("train.jsonl", row("p", code(1)) + row("p", code(2)))});
  own.validation = {world.write("validation.jsonl", row("p", code(2)))};
  auto tally = audit(own, {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->relations.at("split"), 2U);
}

TEST(Audit, FlagsAPromptThatHoldsItsCompletion) {
  World world;
  auto tally =
      audit(audit_settings(world, {world.write("rows.jsonl", row("copy this: " + code(3), code(3)))}), {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->relations.at("prompt_completion"), 1U);
}

TEST(Audit, FlagsABenchmarkProblemAndListsItForReview) {
  World world;
  std::string problem;
  for (char c : code(5)) problem += c;
  std::string python;
  for (std::size_t i = 0; i < problem.size(); ++i)
    if (problem[i] == '\\' && problem[i + 1] == 'n') {
      python += '\n';
      ++i;
    } else {
      python += problem[i];
    }
  world.write("bench/problem.py", python);
  auto own = audit_settings(
      world, {world.write("rows.jsonl", row("p", "nothing at all") + row("p", "x = 1\\n" + code(5)))});
  own.against = {(world.folder() / "bench").string()};
  auto tally = audit(own, {});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->relations.at("benchmark"), 1U);
  EXPECT_NE(world.read("audit/review.csv").find("problem.py"), std::string::npos);
  EXPECT_NE(world.read("audit/flags.jsonl").find("rows.jsonl, row 2"), std::string::npos);
}

TEST(Audit, NamesTheStrongestOfSeveralFlagsFirst) {
  World world;
  std::string twice = row("copy this: " + code(3, 8), code(3)) + row("copy this: " + code(3, 8), code(3));
  auto tally = audit(audit_settings(world, {world.write("rows.jsonl", twice)}), {});
  ASSERT_TRUE(tally);
  ASSERT_EQ(tally->flags[0].leaks.size(), 2U);
  EXPECT_EQ(tally->flags[0].leaks[0].relation, "rows");
  EXPECT_EQ(tally->flags[0].leaks[1].relation, "prompt_completion");
}

}  // namespace
}  // namespace kw::dataset
