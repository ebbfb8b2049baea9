// The place, the rule and the fingerprint of a finding.
#include "verify/explain/finding.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "findings_world.h"

namespace kw::explain {
namespace {

using testing::HasSubstr;

TEST(Finding, PointsIntoTheFileOfTheCandidate) {
  const Finding it = found(out_of_bounds);
  ASSERT_TRUE(it.place);
  EXPECT_EQ(it.place->path, "kernels/relu.py");
  EXPECT_TRUE(it.place->is_inside);
  EXPECT_EQ(it.place->line, 8U);
  EXPECT_EQ(it.place->column, 9U);
  EXPECT_EQ(it.place->end_column, 16U);
}
TEST(Finding, CountsTheLinesBeforeTheCodeOfAnAnswer) {
  EXPECT_EQ(found(out_of_bounds, code, {{"answer.md", 5, false}, {}}).place->line, 12U);
}
TEST(Finding, PointsToTheWholeFileWhereTheBeginningIsUnknown) {
  const Finding it = found(out_of_bounds, code, {{"answer.md", 0, false}, {}});
  EXPECT_EQ(it.place->path, "answer.md");
  EXPECT_EQ(it.place->line, 0U);
}
TEST(Finding, PointsToTheRowThatContainsTheCandidate) {
  const Finding it = found(out_of_bounds, code, {{"batch.jsonl", 3, true}, {}});
  EXPECT_EQ(it.place->line, 3U);
  EXPECT_EQ(it.place->column, 0U);
}
TEST(Finding, PointsToTheReferenceWhereTheTaskIsAtFault) {
  Verdict broken = failed(ErrorClass::task_invalid, Stage::prepare, "no inputs", 2);
  broken.error_detail->file = "reference.py";
  EXPECT_EQ(found(broken).place->path, "kernels/reference.py");
  EXPECT_EQ(found(broken).place->line, 2U);
  broken.error_detail.reset();
  broken.fault = Fault::task;
  EXPECT_EQ(found(broken).place->path, "kernels/reference.py");
  EXPECT_EQ(found(broken).place->line, 0U);
}
TEST(Finding, HasNoPlaceWithoutAFile) {
  EXPECT_FALSE(found(out_of_bounds, code, {}).place);
}
TEST(Finding, APathIsRelativeToTheWorkingDirectoryOrAbsolute) {
  EXPECT_EQ(place_of("/checkout/a/../b.py", "/checkout").path, "b.py");
  EXPECT_EQ(place_of("./b.py", "/checkout").path, "b.py");
  EXPECT_EQ(place_of("..b.py", "/checkout").path, "..b.py");
  const Place outside = place_of("../b.py", "/checkout");
  EXPECT_EQ(outside.path, "/b.py");
  EXPECT_FALSE(outside.is_inside);
}
TEST(Finding, EveryRuleIsListedOnce) {
  std::set<std::string> ids;
  for (const Rule& rule : all_rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_FALSE(rule.what.empty()) << rule.id;
  }
  for (std::string_view word : enum_words<ErrorClass>)
    EXPECT_TRUE(ids.contains(found(failed(*from_string<ErrorClass>(word), Stage::run, "")).rule)) << word;
  for (std::string_view word : enum_words<CountsReason>)
    EXPECT_TRUE(ids.contains(found(does_not_count(*from_string<CountsReason>(word))).rule)) << word;
  for (Status status : {Status::incorrect, Status::failed, Status::skipped, Status::error})
    EXPECT_TRUE(ids.contains(found(verdict(status, Stage::run)).rule)) << to_string(status);
  Verdict without_reason = does_not_count(CountsReason::decoy);
  without_reason.counts_reason.reset();
  EXPECT_TRUE(ids.contains(found(without_reason).rule));
}
TEST(Finding, AReasonIsAnotherRuleThanTheErrorClassOfItsName) {
  EXPECT_EQ(found(failed(ErrorClass::nondeterministic, Stage::judge, "")).rule, "nondeterministic");
  EXPECT_EQ(found(does_not_count(CountsReason::nondeterministic)).rule, "does_not_count/nondeterministic");
}
TEST(Finding, TheFingerprintStaysWhenLinesMove) {
  Verdict moved = out_of_bounds;
  moved.error_detail->line = 10;
  const Finding before = found(out_of_bounds);
  const Finding after = found(moved, "# one\n# two\n" + code);
  EXPECT_EQ(after.place->line, 10U);
  EXPECT_EQ(after.fingerprint, before.fingerprint);
}
TEST(Finding, TheFingerprintDiffersByRuleFileLineAndRow) {
  const Origins elsewhere{{"kernels/other.py", 1, false}, {}};
  Verdict other_line = out_of_bounds;
  other_line.error_detail->line = 9;
  Verdict other_row = out_of_bounds;
  other_row.id = "other";
  const Origins row{{"batch.jsonl", 1, true}, {}};
  const std::set<std::string> prints{
      found(out_of_bounds).fingerprint,
      found(failed(ErrorClass::timeout, Stage::run, "", 8)).fingerprint,
      found(out_of_bounds, code, elsewhere).fingerprint,
      found(other_line).fingerprint,
      found(out_of_bounds, code, row).fingerprint,
      found(other_row, code, row).fingerprint,
  };
  EXPECT_EQ(prints.size(), 6U);
}
TEST(Finding, DetailsHaveTheErrorTheNumbersAndTheNotes) {
  Verdict wrong = incorrect(ErrorClass::wrong_value, "output: 3 of 12 values differ (25.0%)");
  wrong.comparison->first_mismatch = FirstMismatch{"output", {0, 1}, 1.5, 2.5};
  wrong.comparison->findings = {"the strides differ"};
  EXPECT_EQ(found(wrong).details,
            "output: 3 of 12 values differ (25.0%)\n"
            "First at output[0, 1]: expected 1.5, got 2.5\n"
            "note: the strides differ");
}
TEST(Findings, AreInTheOrderOfTheirLevels) {
  const Findings findings = all({found(verdict(Status::skipped, Stage::run)), found(out_of_bounds),
                                 found(does_not_count(CountsReason::decoy))});
  std::vector<Level> levels;
  for (const auto& [level, found] : findings.by_level()) levels.push_back(level);
  EXPECT_THAT(levels, testing::ElementsAre(Level::error, Level::warning, Level::note));
}
TEST(Findings, CountMoreThanTheyKeep) {
  Findings findings(2);
  for (int i = 0; i < 5; ++i) findings.add(found(out_of_bounds));
  findings.add_right();
  EXPECT_EQ(findings.by_level().at(Level::error).size(), 2U);
  EXPECT_EQ(findings.count(Level::error), 5U);
  EXPECT_EQ(findings.total(), 6U);
}

}  // namespace
}  // namespace kw::explain
