#include <gmock/gmock.h>

#include <boost/json/array.hpp>

#include <filesystem>

#include "base/core/files.h"
#include "score/report/measure.h"
#include "score/report/report.h"
#include "score/report/result.h"
#include "score/report/review.h"
#include "score/report/static_checks.h"

namespace kw::scoring {
namespace {

using score::Standing;
using testing::HasSubstr;
using testing::Not;

Output output_of(const std::string& target, Standing standing, std::optional<double> speedup = {}) {
  Output output;
  output.record.target = output.record.item = output.record.task_id = target;
  output.record.source = "sample";
  output.record.answer_sha256 = std::string(64, '0');
  output.record.verdict.by = JudgedBy::here;
  output.record.verdict.standing = standing;
  output.record.verdict.status = standing == Standing::right ? "correct" : "failed";
  output.record.verdict.speedup = speedup;
  return output;
}

boost::json::object result_of_set(const OutputSet& set) {
  ResultParts parts;
  parts.set = &set;
  return result_of(parts);
}

TEST(ScoredAnswer, ComesBackFromItsJson) {
  ScoredAnswer record = output_of("a", Standing::right, 1.5).record;
  record.turn = 2;
  record.is_scored = false;
  record.was_trained_on = true;
  record.idioms.emplace();
  record.idioms->parses = true;
  record.idioms->forbidden = 3;
  record.idioms->disguise = "no_kernel";
  record.overlap.emplace();
  record.overlap->exact_tokens = true;
  record.overlap->bleu = 0.25;
  record.compile = "fails";
  auto again = record_from_json(to_json(record));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(record));
}

Output checked(const std::string& target, score::CheckState state) {
  Output output = output_of(target, Standing::right);
  output.record.idioms.emplace();
  std::vector<StaticFinding> why;
  if (state != score::CheckState::pass) why.push_back({"k has an access without a mask", 9});
  set_checks({{score::Check::parses, score::CheckState::pass, {}}, {score::Check::in_bounds, state, why}},
             *output.record.idioms);
  return output;
}

TEST(CheckStates, ComeBackFromTheirJson) {
  ScoredAnswer record = checked("a", score::CheckState::unproven).record;
  auto again = record_from_json(to_json(record));
  ASSERT_TRUE(again && again->idioms);
  EXPECT_EQ(again->idioms->state, score::CheckState::unproven);
  EXPECT_EQ(again->idioms->checks.at(score::Check::in_bounds), score::CheckState::unproven);
  ASSERT_EQ(again->idioms->reasons.size(), 1U);
  EXPECT_EQ(again->idioms->reasons[0].line, 9U);
}

TEST(CheckStates, AreNotStatedByAnEarlierVersion) {
  boost::json::object object = to_json(checked("a", score::CheckState::fail).record);
  for (const char* name : {"state", "checks", "reasons"}) object["static"].get_object().erase(name);
  object["static"].get_object()["is_good"] = true;
  auto record = record_from_json(object);
  ASSERT_TRUE(record && record->idioms);
  EXPECT_FALSE(record->idioms->state);
  EXPECT_EQ(judgement_of(*record->idioms), true);
  EXPECT_EQ(state_words(*record->idioms), "passed");
}

TEST(CheckStates, AreReadInTheTableAndInTheReport) {
  OutputSet set;
  set.outputs = {checked("a", score::CheckState::pass), checked("b", score::CheckState::unproven),
                 checked("c", score::CheckState::fail), checked("d", score::CheckState::fail)};
  boost::json::object result = result_of_set(set);
  View checks = View(result)["static"]["checks"]["in_bounds"];
  EXPECT_EQ(checks["pass"].count(), 1U);
  EXPECT_EQ(checks["unproven"].count(), 1U);
  EXPECT_EQ(checks["fail"].count(), 2U);
  const std::string table = short_table(result);
  EXPECT_THAT(table, HasSubstr("static checks: unproven  "));
  EXPECT_THAT(table, HasSubstr("fail      c: in_bounds, line 9: k has an access without a mask\n"));
  EXPECT_THAT(markdown(result), HasSubstr("| in_bounds | 1 | 1 | 2 |"));
  EXPECT_THAT(markdown(result),
              HasSubstr("| b | unproven | in_bounds | 9 | k has an access without a mask |"));
}

TEST(CheckStates, OfAnEarlierResultAreTheShareOfGoodAnswers) {
  OutputSet set;
  set.outputs = {checked("a", score::CheckState::pass)};
  set.outputs[0].record.idioms->is_good = true;
  boost::json::object result = result_of_set(set);
  result["static"].get_object().erase("checks");
  EXPECT_THAT(short_table(result), HasSubstr("static checks passed"));
  EXPECT_THAT(short_table(result), Not(HasSubstr("unproven")));
}

TEST(CheckStates, ThatAreUnprovenAgreeWithNobody) {
  EXPECT_EQ(judgement_of(*checked("a", score::CheckState::pass).record.idioms), true);
  EXPECT_EQ(judgement_of(*checked("a", score::CheckState::fail).record.idioms), false);
  EXPECT_FALSE(judgement_of(*checked("a", score::CheckState::unproven).record.idioms));
}

TEST(ScoredAnswer, WithoutAStandingIsRefused) {
  boost::json::object object = to_json(output_of("a", Standing::right).record);
  object["verdict"].get_object()["standing"] = "splendid";
  EXPECT_FALSE(record_from_json(object));
}

std::string error_of(const boost::json::object& object) {
  auto record = record_from_json(object);
  return record ? "" : record.error().what;
}

TEST(ScoredAnswer, WithAFigureThatNoneCanBeIsRefusedByName) {
  for (double speedup : {1e308, -1.0, 0.0}) {
    boost::json::object object = to_json(output_of("edited", Standing::right, 1.5).record);
    object["verdict"].get_object()["speedup"] = speedup;
    EXPECT_THAT(error_of(object), HasSubstr("edited: ")) << speedup;
  }
  for (double bleu : {1e308, -0.1, 1.5}) {
    boost::json::object object = to_json(output_of("edited", Standing::right).record);
    object["overlap"] = {{"exact", false}, {"bleu", bleu}};
    EXPECT_THAT(error_of(object), HasSubstr("edited: ")) << bleu;
  }
}

Output likened(const std::string& item, const std::string& reference, const std::string& answer) {
  Output output = output_of(item, Standing::right);
  output.has_reference = true;
  output.overlap = score::overlap(reference, answer);
  return output;
}

TEST(Likeness, GivesEveryItemOneValue) {
  OutputSet set;
  for (int i = 0; i < 9; ++i) set.outputs.push_back(likened("a", "x y", "x y"));
  set.outputs.push_back(likened("b", "x y", "z"));
  boost::json::object result = result_of_set(set);
  View overlap = View(result)["overlap"];
  EXPECT_EQ(overlap["exact_tokens"]["value"].number(), 0.5);
  EXPECT_EQ(overlap["exact_tokens"]["tasks"].count(), 2U);
  EXPECT_EQ(overlap["mean_bleu"].number(), 0.5);
  EXPECT_EQ(overlap["mean_bleu_over_items"]["method"].text(), "cluster bootstrap");
}

TEST(Likeness, CountsWhatHasNoBleuByItsReason) {
  OutputSet set;
  set.outputs = {likened("a", "x", std::string(std::size_t{2} << 20, 'x')), likened("b", "x", "x"),
                 likened("c", "# nothing", "x")};
  boost::json::object result = result_of_set(set);
  View overlap = View(result)["overlap"];
  EXPECT_EQ(overlap["mean_bleu"].number(), 0.5);
  EXPECT_EQ(overlap["with_bleu"].count(), 2U);
  EXPECT_EQ(overlap["without_bleu"]["reference_without_tokens"].count(), 1U);
}

TEST(Training, CountsWhatCannotBeCompared) {
  OutputSet set;
  ResultParts parts;
  parts.set = &set;
  parts.training.items = 3;
  parts.training.not_comparable = 2;
  boost::json::object result = result_of(parts);
  EXPECT_EQ(View(result)["training"]["not_comparable"].count(), 2U);
}

TEST(Turns, TheRightOneStandsForItsConversation) {
  std::vector<Output> outputs = {output_of("a#1", Standing::wrong), output_of("a#2", Standing::right, 2.0),
                                 output_of("a#3", Standing::right, 1.0), output_of("b", Standing::wrong)};
  for (std::size_t i = 0; i < 3; ++i) outputs[i].conversation = "a";
  choose_turns(outputs);
  EXPECT_FALSE(outputs[0].record.is_scored);
  EXPECT_TRUE(outputs[1].record.is_scored);
  EXPECT_FALSE(outputs[2].record.is_scored);
  EXPECT_TRUE(outputs[3].record.is_scored);
}

TEST(Turns, TheReportNamesTheirNumberWhereTheBestOneIsScored) {
  OutputSet set;
  set.outputs = {output_of("a#1", Standing::wrong), output_of("a#2", Standing::right),
                 output_of("b", Standing::right)};
  for (std::size_t i = 0; i < 2; ++i) set.outputs[i].conversation = "a";
  EXPECT_EQ(most_turns(set.outputs), 2U);
  EXPECT_EQ(most_turns(std::span(set.outputs).subspan(2)), 1U);
  boost::json::object result = result_of_set(set);
  EXPECT_EQ(headline(result).front().measure, "pass@1");
  result["scored"] = boost::json::object{{"turns", "best"}, {"most_turns", 2}};
  EXPECT_EQ(headline(result).front().measure, "pass@1, best of up to 2 turns");
  EXPECT_NE(markdown(result).find("| pass@1, best of up to 2 turns | "), std::string::npos);
  result["scored"] = boost::json::object{{"turns", "first"}, {"most_turns", 1}};
  EXPECT_EQ(headline(result).front().measure, "pass@1");
}

TEST(Verdicts, UnknownOnesAreInNoShareAndCounted) {
  OutputSet set;
  set.outputs = {output_of("a", Standing::right), output_of("b", Standing::wrong),
                 output_of("c", Standing::unknown)};
  set.outputs[2].record.verdict.status = "error";
  set.outputs[2].record.verdict.fault = "infrastructure";
  set.outputs[2].record.verdict.error_class = "out_of_memory";
  boost::json::object result = result_of_set(set);
  View verdicts = View(result)["verdicts"];
  EXPECT_EQ(verdicts["pass_at_k"].list().front()["value"].number(), 0.5);
  EXPECT_EQ(verdicts["tasks_left_out"].count(), 1U);
  EXPECT_EQ(verdicts["left_out"]["infrastructure: out_of_memory"].count(), 1U);
}

TEST(Report, TakesForeignTextForNothingElseThanText) {
  OutputSet set;
  set.outputs = {output_of("a", Standing::wrong)};
  set.outputs[0].record.verdict.error_class = "x | y <script>";
  boost::json::object result = result_of_set(set);
  result["command"] = boost::json::array{"kernelwright", "```", "# no heading"};
  EXPECT_THAT(markdown(result), Not(HasSubstr("<script>")));
  EXPECT_THAT(markdown(result), Not(HasSubstr("``` #")));
}

TEST(Report, SaysWhatAnErrorClassMeans) {
  OutputSet set;
  set.outputs = {output_of("a", Standing::wrong)};
  set.outputs[0].record.verdict.status = "failed";
  set.outputs[0].record.verdict.error_class = "compile_error";
  EXPECT_THAT(markdown(result_of_set(set)), HasSubstr("| compile_error | A kernel does not compile. | 1 |"));
}

TEST(ReviewSheet, SaysAVerdictInWordsWhereFindingsAreShown) {
  const std::filesystem::path folder = testing::TempDir();
  Output output = output_of("a", Standing::wrong);
  output.record.verdict.error_class = "compile_error";
  output.record.verdict.why = "no attribute 'tanh'";
  ReviewRequest request{1, 1, true, folder / "review.csv", folder / "review.md"};
  boost::json::object result;
  ASSERT_TRUE(write_review({&output, 1}, request, result));
  EXPECT_THAT(*read_text_file(request.markdown),
              HasSubstr("wrong: failed (compile_error). A kernel does not compile. no attribute 'tanh'\n"));
}

ReviewEntry labelled(const Output& output, const std::string& reviewer, ReviewLabel label) {
  return {{output.record.target, output.record.task_id, output.record.answer_sha256, ""},
          reviewer,
          label,
          "",
          ""};
}

TEST(ReviewOfAPage, FlowsIntoAResultByTaskAndCode) {
  const std::filesystem::path log = std::filesystem::path(testing::TempDir()) / "scoring.review.jsonl";
  std::filesystem::remove(log);
  OutputSet set;
  set.outputs = {output_of("a", Standing::right), output_of("b", Standing::wrong)};
  set.outputs[0].record.answer_sha256 = "1";
  set.outputs[1].record.answer_sha256 = "2";
  for (const char* reviewer : {"Ada", "Bob"}) {
    ASSERT_TRUE(append_review(log, labelled(set.outputs[0], reviewer, ReviewLabel::good)));
    ASSERT_TRUE(append_review(log, labelled(set.outputs[1], reviewer, ReviewLabel::suspicious)));
  }
  ASSERT_TRUE(append_review(log, {{"gone", "c", "3", ""}, "Ada", ReviewLabel::good, "", ""}));
  boost::json::object result = result_of_set(set);
  ASSERT_TRUE(take_review(log, result));
  View review = View(result)["review"];
  EXPECT_EQ(review["reviews"].list().size(), 4U);
  EXPECT_EQ(review["problems"].list().size(), 1U);
  EXPECT_EQ(review["between_reviewers"].list().front()["kappa"].number(), 1.0);
  EXPECT_EQ(review["reviewers"].list().front()["agreement"].list().back()["kappa"].number(), 1.0);
  EXPECT_THAT(markdown(result), HasSubstr("Ada and Bob: 2 answers judged by both"));
}

TEST(ReviewersAgree, WithoutLabelsThatDecideNothing) {
  std::vector<Review> reviews = {{"a", "Ada", ReviewLabel::good, "", ""},
                                 {"a", "Bob", ReviewLabel::unsure, "", ""},
                                 {"b", "Ada", ReviewLabel::drop, "", ""},
                                 {"b", "Bob", ReviewLabel::good, "", ""}};
  boost::json::array pairs = reviewer_pairs_json(reviews);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(View(pairs[0])["pairs"].count(), 1U);
  EXPECT_EQ(View(pairs[0])["only_second"].count(), 1U);
}

TEST(Report, SurvivesAResultOfWhichNothingIsLeft) {
  boost::json::object result{
      {"schema", score_schema}, {"verdicts", 3}, {"outputs", "none"}, {"paired", {1, 2}}};
  EXPECT_THAT(markdown(result), HasSubstr("# Score"));
  EXPECT_FALSE(records_of(result));
}

TEST(Report, SaysTrainedOnAboveEverything) {
  OutputSet set;
  set.outputs = {output_of("a", Standing::right)};
  set.outputs[0].record.was_trained_on = true;
  boost::json::object result = result_of_set(set);
  EXPECT_THAT(short_table(result), HasSubstr("TRAINED ON: 1 of 1"));
  EXPECT_THAT(markdown(result), HasSubstr("## Verdicts (includes training tasks)"));
}

}  // namespace
}  // namespace kw::scoring
