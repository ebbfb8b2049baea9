#include "dataset/build/review.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/files.h"
#include "dataset/build/row_sink.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string columns =
    "id,kind,source,relation,against,row,jaccard,containment,spans,decision,reviewer,note,at\n";

corpus::Leak leak(const std::string& row, double containment) {
  corpus::Leak leak;
  leak.relation = "benchmark";
  leak.against = "KernelBench";
  leak.row = row;
  leak.jaccard = 0.25;
  leak.containment = containment;
  leak.field = "completion";
  leak.spans = {{0, 120}, {300, 420}};
  return leak;
}

Flagged flagged(const std::string& id, std::vector<corpus::Leak> leaks) {
  return {id, corpus::RowKind::fim, "kernels/add.py", std::move(leaks)};
}

class ReviewFile : public testing::Test {
 protected:
  ReviewFile() { fs::remove(path_); }
  ~ReviewFile() override { fs::remove(path_); }

  Review open(const std::string& text) {
    EXPECT_TRUE(write_file(path_, text));
    auto review = Review::open(path_.string());
    EXPECT_TRUE(review) << review.error().what;
    return review ? std::move(*review) : Review();
  }
  std::string error_of(const std::string& text) {
    EXPECT_TRUE(write_file(path_, text));
    auto review = Review::open(path_.string());
    return review ? "" : review.error().what;
  }
  std::string written(const Review& review, const std::vector<Flagged>& rows) {
    EXPECT_TRUE(review.write(rows, path_));
    return read_file(path_).value_or("");
  }

  fs::path path_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ReviewFile, AMissingFileHasNoDecisions) {
  auto review = Review::open(path_.string());
  ASSERT_TRUE(review);
  EXPECT_EQ(review->decision("a"), Decision::none);
}

TEST_F(ReviewFile, AFlagIsALineWithItsSpans) {
  EXPECT_EQ(written(Review(), {flagged("a", {leak("level1/19_ReLU.py", 0.5)})}),
            columns +
                "a,fim,kernels/add.py,benchmark,KernelBench,level1/19_ReLU.py,0.250,0.500,completion 0-120 "
                "300-420,,,,\n");
}

TEST_F(ReviewFile, TheStrongestFlagOfABenchmarkStandsForAll) {
  std::string text = written(Review(), {flagged("a", {leak("weak", 0.5), leak("strong", 0.9)})});
  EXPECT_THAT(text, HasSubstr("strong"));
  EXPECT_THAT(text, Not(HasSubstr("weak")));
}

TEST_F(ReviewFile, DecisionsAreReadInAnyCase) {
  Review review = open("decision,id\n Keep ,a\nDROP,b\n,c\n");
  EXPECT_EQ(review.decision("a"), Decision::keep);
  EXPECT_EQ(review.decision("b"), Decision::drop);
  EXPECT_EQ(review.decision("c"), Decision::none);
}

TEST_F(ReviewFile, DropOutweighsKeep) {
  EXPECT_EQ(open("id,decision\na,drop\na,keep\n").decision("a"), Decision::drop);
}

TEST_F(ReviewFile, WhatASpreadsheetSavesIsRead) {
  EXPECT_EQ(
      open("\xEF\xBB\xBFid,note,decision\r\na,\"two\r\nlines, \"\"quoted\"\"\",keep\r\n\r\n").decision("a"),
      Decision::keep);
}

TEST_F(ReviewFile, AnUnknownWordIsNamedWithItsLine) {
  EXPECT_THAT(error_of("id,note,decision\na,\"two\nlines\",keep\nb,,maybe\n"),
              testing::AllOf(HasSubstr("line 4"), HasSubstr("'maybe'")));
}

TEST_F(ReviewFile, AFileWithoutItsColumnsIsAnError) {
  EXPECT_THAT(error_of("id;decision\na;keep\n"), HasSubstr("no columns id and decision"));
}

TEST_F(ReviewFile, ALineWithTooFewFieldsIsAnError) {
  EXPECT_THAT(error_of("id,decision\na\n"), HasSubstr("line 2"));
}

TEST_F(ReviewFile, DecisionsStayWhenTheFlagIsWrittenAgain) {
  Review review =
      open(columns + "a,fim,old,benchmark,KernelBench,old,0.1,0.1,,keep,Ada,\"fine, I say\",today\n");
  std::string text = written(review, {flagged("a", {leak("new", 0.5)})});
  EXPECT_THAT(
      text,
      HasSubstr("KernelBench,new,0.250,0.500,completion 0-120 300-420,keep,Ada,\"fine, I say\",today\n"));
  EXPECT_THAT(text, Not(HasSubstr("old")));
}

TEST_F(ReviewFile, DecisionsAboutRowsThatAreGoneStay) {
  std::string before = columns + "gone,fim,s,benchmark,KernelBench,r,0.1,0.1,,drop,,,\n";
  EXPECT_EQ(written(open(before), {}), before);
}

TEST_F(ReviewFile, LinesThatNobodyWroteInGoWithTheirFlags) {
  EXPECT_EQ(written(open(columns + "gone,fim,s,benchmark,KernelBench,r,0.1,0.1,,,,,\n"), {}), columns);
}

TEST_F(ReviewFile, ColumnsThatPeopleAddedStay) {
  Review review = open("id,relation,against,decision,ticket\na,benchmark,KernelBench,,T-7\nb,,,keep,T-8\n");
  std::string text = written(review, {flagged("a", {leak("r", 0.5)})});
  EXPECT_THAT(text, HasSubstr(",at,ticket\n"));
  EXPECT_THAT(text, HasSubstr(",T-7\n"));
  EXPECT_THAT(text, HasSubstr(",T-8\n"));
}

TEST_F(ReviewFile, TwoDecisionsUnderOneKeyBothStay) {
  Review review = open("id,decision,reviewer\na,keep,Ada\na,drop,Bob\n");
  std::string text = written(review, {});
  EXPECT_THAT(text, HasSubstr("Ada"));
  EXPECT_THAT(text, HasSubstr("Bob"));
}

TEST_F(ReviewFile, WritingAgainChangesNothing) {
  std::vector<Flagged> rows{flagged("b", {leak("r", 0.5)}), flagged("a", {leak("=cmd\"|x", 0.5)})};
  std::string once = written(Review(), rows);
  EXPECT_EQ(written(open(once), rows), once);
}

}  // namespace
}  // namespace kw::dataset
