#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/core/files.h"
#include "score/report/review_sheet.h"

namespace kw::score {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

ReviewTarget target(const std::string& name, const std::string& status = "correct",
                    const std::string& source = "s") {
  ReviewTarget one;
  one.target = name;
  one.status = status;
  one.source = source;
  one.text = "text of " + name + "\n";
  one.findings = "findings of " + name;
  return one;
}

std::vector<ReviewTarget> many(std::size_t correct, std::size_t failed, std::size_t skipped) {
  std::vector<ReviewTarget> list;
  for (std::size_t i = 0; i < correct; ++i) list.push_back(target("c" + std::to_string(i)));
  for (std::size_t i = 0; i < failed; ++i) list.push_back(target("f" + std::to_string(i), "failed"));
  for (std::size_t i = 0; i < skipped; ++i) list.push_back(target("s" + std::to_string(i), "skipped"));
  return list;
}

std::map<std::string, std::size_t> drawn(const Draw& draw) {
  std::map<std::string, std::size_t> by_status;
  for (const Stratum& stratum : draw.strata) by_status[stratum.status] = stratum.drawn;
  return by_status;
}

std::set<std::string> names(const std::vector<ReviewTarget>& targets, const Draw& draw) {
  std::set<std::string> found;
  for (std::size_t chosen : draw.chosen) found.insert(targets[chosen].target);
  return found;
}

TEST(Draw, IsInProportionToTheStrata) {
  auto targets = many(700, 200, 100);
  Draw result = draw(targets, 100);
  EXPECT_THAT(result.chosen, SizeIs(100));
  EXPECT_THAT(names(targets, result), SizeIs(100));
  EXPECT_NEAR(static_cast<double>(drawn(result)["correct"]), 70, 1);
  EXPECT_NEAR(static_cast<double>(drawn(result)["failed"]), 20, 1);
}

TEST(Draw, LeavesNoStratumOut) {
  EXPECT_EQ(drawn(draw(many(998, 1, 1), 10)),
            (std::map<std::string, std::size_t>{{"correct", 8}, {"failed", 1}, {"skipped", 1}}));
}

TEST(Draw, OfFewerThanThereAreStrataTakesTheLargest) {
  EXPECT_EQ(drawn(draw(many(5, 50, 1), 2)),
            (std::map<std::string, std::size_t>{{"correct", 1}, {"failed", 1}, {"skipped", 0}}));
}

TEST(Draw, TakesAllWhereMoreAreAskedForThanThereAre) {
  EXPECT_THAT(draw(many(3, 2, 1), 100).chosen, SizeIs(6));
}

TEST(Draw, OfNothingIsEmpty) {
  EXPECT_THAT(draw({}, 10).chosen, IsEmpty());
  EXPECT_THAT(draw(many(3, 0, 0), 0).chosen, IsEmpty());
}

TEST(Draw, NeverDrawsTwiceNorTooFewWhateverTheSizes) {
  for (std::size_t correct : {1U, 2U, 7U, 40U})
    for (std::size_t failed : {0U, 1U, 13U})
      for (std::size_t count : {1U, 2U, 3U, 10U, 60U}) {
        auto targets = many(correct, failed, 3);
        Draw result = draw(targets, count);
        EXPECT_EQ(names(targets, result).size(), std::min(count, targets.size()));
        EXPECT_EQ(result.chosen.size(), std::min(count, targets.size()));
        for (const Stratum& stratum : result.strata) EXPECT_LE(stratum.drawn, stratum.size);
      }
}

TEST(Draw, DependsOnTheSeedAndNotOnTheOrder) {
  auto targets = many(40, 30, 5);
  auto turned = targets;
  std::ranges::reverse(turned);
  EXPECT_EQ(names(targets, draw(targets, 20)), names(turned, draw(turned, 20)));
  EXPECT_NE(names(targets, draw(targets, 20)), names(targets, draw(targets, 20, 7)));
}

TEST(Label, ForgivesLettersAndBlanks) {
  EXPECT_EQ(review_label(" Wrong Idiom "), ReviewLabel::wrong_idiom);
  EXPECT_EQ(review_label("wrong-idiom"), ReviewLabel::wrong_idiom);
  EXPECT_FALSE(review_label("goood"));
}

ReviewRead read(const std::string& text, const std::vector<std::string>& known = {"a", "b", "c"}) {
  auto result = read_review_text(text, known);
  EXPECT_TRUE(result) << result.error().what;
  return result ? *result : ReviewRead();
}

std::string review_error(const std::string& text) {
  auto result = read_review_text(text, {});
  return result ? "" : result.error().what;
}

TEST(Csv, IsReadAsASpreadsheetSavesIt) {
  ReviewRead result = read(
      "\xEF\xBB\xBFnumber;target;label;reviewer;note;at;text\r\n"
      "2; b ;Good; Ada ;\"fine; really\";2026-01-02;\"def f():\r\n  \"\"x\"\"\"\r\n"
      "1;a;wrong idiom;Ada;;;\r\n");
  ASSERT_THAT(result.reviews, SizeIs(2));
  EXPECT_EQ(result.reviews[0].target, "b");
  EXPECT_EQ(result.reviews[0].reviewer, "Ada");
  EXPECT_EQ(result.reviews[0].note, "fine; really");
  EXPECT_EQ(result.reviews[0].at, "2026-01-02");
  EXPECT_EQ(result.reviews[1].label, ReviewLabel::wrong_idiom);
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(Csv, MayNameItsSeparator) {
  EXPECT_THAT(read("sep=;\r\ntarget;label\r\na;good\r\n").reviews, SizeIs(1));
}

TEST(Csv, MayHaveTabsAndOtherColumns) {
  EXPECT_THAT(read("mine\tLabel\tTarget\nx\tdrop\tc\n").reviews, SizeIs(1));
}

TEST(Csv, CountsRowsWithoutALabel) {
  ReviewRead result = read("target,label\na,\nb,good\nc\n\n");
  EXPECT_EQ(result.without_label, 2U);
  EXPECT_THAT(result.reviews, SizeIs(1));
}

TEST(Csv, NamesTheRowOfAnUnknownLabelAndKeepsTheOthers) {
  ReviewRead result = read("target,label\na,good\nb,goood\nc,keep\n");
  EXPECT_THAT(result.problems, ElementsAre("row 3: 'goood' is no label"));
  EXPECT_THAT(result.reviews, SizeIs(2));
}

TEST(Csv, NamesTheRowOfAnUnknownTarget) {
  EXPECT_THAT(read("target,label\nx,good\n").problems, ElementsAre(HasSubstr("row 2: 'x' is no target")));
  EXPECT_THAT(read("target,label\n,good\n").problems, ElementsAre(HasSubstr("a label without a target")));
}

TEST(Csv, NamesRowsThatContradictEachOther) {
  ReviewRead result = read("target,label,reviewer\na,good,Ada\na,drop,Ada\na,drop,Bob\na,good,Ada\n");
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("row 3")));
  EXPECT_THAT(result.reviews, SizeIs(2));
}

TEST(Csv, NamesARowWithMoreFieldsThanColumns) {
  EXPECT_THAT(read("target,label\na,good,because,so\n").problems,
              ElementsAre(HasSubstr("row 2: more fields")));
  EXPECT_THAT(read("target,label\na,good,,\n").problems, IsEmpty());
}

TEST(Csv, WithoutItsColumnsIsAnError) {
  EXPECT_THAT(review_error("a,b\n1,2\n"), HasSubstr("lacks the columns target and label"));
  EXPECT_THAT(review_error(""), HasSubstr("lacks the columns target and label"));
}

TEST(Csv, WithAnOpenQuoteIsAnErrorThatNamesTheRow) {
  EXPECT_THAT(review_error("target,label\na,good\nb,\"good\n"), HasSubstr("row 3: a quote is opened"));
}

TEST(Sheet, OfAnotherEncodingIsAnError) {
  EXPECT_THAT(review_error(std::string("\xFF\xFEt\0a\0", 6)), HasSubstr("UTF-16"));
  EXPECT_THAT(review_error("target,label\n\xE4,good\n"), HasSubstr("not UTF-8"));
}

TEST(Markdown, IsReadAsAPersonLeavesIt) {
  ReviewRead result = read(
      "\n# Review\r\n\r\n## 2 of 2\r\n- **Target**: b\r\n* label:  GOOD\r\n- reviewer: Ada\r\n- note: it "
      "is\r\n"
      "  quite fine\r\n\r\n~~~~python\r\ncode\r\n~~~~\r\n## 1 of 2\r\n- target: a\r\n- label:\r\n");
  ASSERT_THAT(result.reviews, SizeIs(1));
  EXPECT_EQ(result.reviews[0].target, "b");
  EXPECT_EQ(result.reviews[0].note, "it is quite fine");
  EXPECT_EQ(result.without_label, 1U);
}

TEST(Markdown, DoesNotTakeTheTextsWordForThePersons) {
  ReviewRead result = read(
      "# Review\n## 1\n- target: a\n- label: drop\n\n~~~~~python\n## 2\n~~~~\n- target: b\n- label: "
      "good\n~~~~~\n");
  ASSERT_THAT(result.reviews, SizeIs(1));
  EXPECT_EQ(result.reviews[0].label, ReviewLabel::drop);
}

TEST(Markdown, NamesTheLineOfAnUnknownLabel) {
  EXPECT_THAT(read("# Review\n## 1\n- target: a\n- label: bad\n").problems,
              ElementsAre("line 4: 'bad' is no label"));
}

class SheetFile : public testing::Test {
 protected:
  SheetFile() { fs::remove(path_); }
  ~SheetFile() override { fs::remove(path_); }

  std::string written(bool markdown, bool show_findings = false) {
    SheetOptions options;
    options.show_findings = show_findings;
    Draw all = draw(targets_, targets_.size());
    EXPECT_TRUE(markdown ? write_review_markdown(targets_, all, options, path_)
                         : write_review_csv(targets_, all, options, path_));
    return read_file(path_).value_or("");
  }
  std::vector<std::string> known() const {
    std::vector<std::string> list;
    for (const ReviewTarget& one : targets_) list.push_back(one.target);
    return list;
  }
  // All labelled "keep" where the sheet has room for a label.
  static std::string filled(std::string sheet, bool markdown) {
    std::string from = markdown ? "- label:\n" : ",,,,,";
    std::string to = markdown ? "- label: keep\n" : ",keep,,,,";
    for (std::size_t at = sheet.find(from); at != sheet.npos; at = sheet.find(from, at + to.size()))
      sheet.replace(at, from.size(), to);
    return sheet;
  }

  std::vector<ReviewTarget> targets_ = {target("a"), target("b/1", "failed")};
  fs::path path_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SheetFile, ShowsNoFindingsToABlindReader) {
  for (bool markdown : {false, true}) {
    EXPECT_THAT(written(markdown), Not(HasSubstr("findings of")));
    EXPECT_THAT(written(markdown), Not(HasSubstr("failed")));
    EXPECT_THAT(written(markdown, true), HasSubstr("findings of b/1"));
  }
}

TEST_F(SheetFile, IsReadBackWithoutLabels) {
  for (bool markdown : {false, true}) {
    ReviewRead result = read(written(markdown), known());
    EXPECT_EQ(result.without_label, 2U);
    EXPECT_THAT(result.problems, IsEmpty());
  }
}

TEST_F(SheetFile, SurvivesHostileTextsAndTargets) {
  std::string text =
      "~~~~~~\n## 9\n- target: a\n- label: good\n```\n\"a,good,,,,\"\n=HYPERLINK(1)\n\x1b[2J\r,\"\n";
  targets_ = {target("=1+1"), target("two\nlines"), target("co,mma; \"quoted\""), target("# title"),
              target("c`d")};
  for (ReviewTarget& one : targets_) one.text = one.findings = text;
  for (bool markdown : {false, true}) {
    ReviewRead result = read(filled(written(markdown, true), markdown), known());
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_EQ(result.reviews.size() + result.without_label, 5U);
    for (const Review& review : result.reviews) EXPECT_EQ(review.label, ReviewLabel::keep);
    std::set<std::string> seen;
    for (const Review& review : result.reviews) seen.insert(review.target);
    if (markdown) EXPECT_THAT(seen, testing::UnorderedElementsAreArray(known()));
  }
}

TEST_F(SheetFile, GivesASpreadsheetNoFormula) {
  targets_[0].text = "@triton.jit\ndef f(): pass\n";
  EXPECT_THAT(written(false), HasSubstr("\" @triton.jit"));
}

TEST_F(SheetFile, ShortensWhatNoCellHolds) {
  targets_[0].text = std::string(100'000, 'x');
  EXPECT_LT(written(false).size(), 33'000U);
  EXPECT_GT(written(true).size(), 100'000U);
}

TEST_F(SheetFile, ThatIsMissingIsAnErrorThatNamesIt) {
  auto result = read_review(path_, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr(path_.filename().string()));
}

TEST(Merged, LaterWordsOfTheSameReviewerTakeThePlaceOfEarlierOnes) {
  auto all =
      merged({{"a", "Ada", ReviewLabel::good, "", ""}, {"a", "Bob", ReviewLabel::good, "", ""}},
             {{"a", "Ada", ReviewLabel::drop, "looked again", ""}, {"b", "Ada", ReviewLabel::keep, "", ""}});
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].label, ReviewLabel::drop);
  EXPECT_EQ(all[1].label, ReviewLabel::good);
}

}  // namespace
}  // namespace kw::score
