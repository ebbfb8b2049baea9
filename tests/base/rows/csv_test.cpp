// CSV: records, fields, rows.
#include "base/rows/formats.h"

#include <gmock/gmock.h>

#include "rows_world.h"

namespace kw::table {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Csv : testing::Test {
  Seen read(const std::string& bytes, const ReadOptions& options = {}) {
    return read_all(folder.write("rows.csv", bytes), options);
  }
  Folder folder;
};

std::vector<std::string> fields(std::string_view record) {
  std::vector<std::string> found;
  auto taken = csv_fields(record, found);
  return taken ? found : std::vector<std::string>{"error: " + taken.error().what};
}

// The cutter's records when the text comes in pieces of this many bytes.
std::vector<std::string> cut(std::string_view text, std::size_t piece_bytes) {
  CsvCutter cutter;
  std::vector<std::string> records(1);
  while (!text.empty()) {
    std::string_view piece = text.substr(0, piece_bytes);
    std::size_t end = cutter.end_of_record(piece);
    records.back() += piece.substr(0, end);
    text.remove_prefix(std::min(end, piece.size()));
    if (end == std::string_view::npos) continue;
    records.emplace_back();
    cutter.restart();
  }
  return records;
}

TEST_F(Csv, CommasNewlinesAndDoubledQuotesStandWithinQuotes) {
  EXPECT_THAT(fields("\"a,\"\"b\"\"\nc\",,d"), ElementsAre("a,\"b\"\nc", "", "d"));
}

TEST_F(Csv, AQuoteInsideAnUnquotedFieldIsText) {
  EXPECT_THAT(fields("it is 5\" wide,\"b\"c"), ElementsAre("it is 5\" wide", "bc"));
}

TEST_F(Csv, AQuoteThatIsNeverClosedIsAnError) {
  EXPECT_THAT(fields("\"a,b"), ElementsAre(HasSubstr("never closed")));
}

TEST_F(Csv, RecordsAreTheSameHoweverTheTextIsCutIntoPieces) {
  std::string text = "a,\"b\n\"\"\n\",c\r\nx\"y,z\n\n\"\",\"\"\"\"\nlast";
  for (std::size_t bytes = 1; bytes <= text.size(); ++bytes)
    EXPECT_THAT(cut(text, bytes),
                ElementsAre("a,\"b\n\"\"\n\",c\r\n", "x\"y,z\n", "\n", "\"\",\"\"\"\"\n", "last"));
}

TEST_F(Csv, WhatIsWrittenIsReadBack) {
  std::vector<std::string> rows = {"", " spaces ", "a,b", "\"", "two\nlines\r\n", "plain", "\xC3\xA4"};
  std::string text = "prompt,completion\n";
  for (const std::string& row : rows) text += csv_record({row, "x"});
  Seen seen = read(text);
  ASSERT_EQ(seen.good.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(seen.good[i].prompt, rows[i]);
}

TEST_F(Csv, FieldsAreQuotedOnlyWhereTheyMustBe) {
  EXPECT_EQ(csv_record({"a", "b c", "say \"x\"", ""}), "a,b c,\"say \"\"x\"\"\",\n");
}

TEST_F(Csv, AMarkAtTheFrontAndCarriageReturnsAreNoPartOfTheText) {
  Seen seen = read("\xEF\xBB\xBF\"prompt\",completion\r\na,b\r\n\r\nc,d");
  ASSERT_EQ(seen.good.size(), 2U);
  EXPECT_EQ(seen.good[0].completion, "b");
  EXPECT_EQ(seen.good[1].prompt, "c");
  EXPECT_EQ(*seen.rows->raw(0), "a,b");
}

TEST_F(Csv, OtherColumnsAreKeptAsText) {
  Seen seen = read("id,prompt,completion\n7,a,b\n");
  ASSERT_EQ(seen.good.size(), 1U);
  EXPECT_EQ(seen.good[0].rest.at("id").as_string(), "7");
}

TEST_F(Csv, ARowWithAnotherNumberOfFieldsIsBadAndTheNextIsRead) {
  Seen seen = read("prompt,completion\na\nb,c\nd,e,f\n");
  ASSERT_EQ(seen.bad.size(), 2U);
  EXPECT_EQ(seen.bad[0].row, 1U);
  EXPECT_EQ(seen.bad[1].row, 3U);
  EXPECT_THAT(seen.bad[1].what, HasSubstr("3 fields"));
  EXPECT_EQ(seen.good.size(), 1U);
}

TEST_F(Csv, ARowThatIsNotUtf8IsBad) {
  Seen seen = read("prompt,completion\na,\xFF\nb,c\n");
  ASSERT_EQ(seen.bad.size(), 1U);
  EXPECT_THAT(seen.bad[0].what, HasSubstr("UTF-8"));
}

TEST_F(Csv, ARowOverTheBoundIsPassedOver) {
  std::string large(5 << 20, 'x');
  Seen seen = read("prompt,completion\n\"" + large + "\n\"\"\",b\nc,d\n", {.longest_row_bytes = 1000});
  ASSERT_EQ(seen.bad.size(), 1U);
  EXPECT_THAT(seen.bad[0].what, HasSubstr("1000 bytes"));
  ASSERT_EQ(seen.good.size(), 1U);
  EXPECT_EQ(*seen.rows->raw(0), "c,d");
}

TEST_F(Csv, ARowOfExactlyTheBoundIsRead) {
  EXPECT_EQ(read("prompt,completion\n1234567890,123456\r\n", {.longest_row_bytes = 17}).good.size(), 1U);
  EXPECT_EQ(read("prompt,completion\n1234567890,1234567\n", {.longest_row_bytes = 17}).bad.size(), 1U);
}

TEST_F(Csv, MissingColumnsAreNamedWithThoseFound) {
  Seen seen = read("question,completion\na,b\n");
  EXPECT_THAT(seen.broken.what, HasSubstr("no column prompt; it has question, completion"));
  EXPECT_THAT(seen.broken.remedy, HasSubstr("--prompt-column"));
}

TEST_F(Csv, ColumnsMayHaveOtherNames) {
  Seen seen = read("question,answer\na,b\n", {.prompt = "question", .completion = "answer"});
  ASSERT_EQ(seen.good.size(), 1U);
  EXPECT_EQ(seen.good[0].completion, "b");
}

TEST_F(Csv, AnEmptyFileIsAnError) {
  EXPECT_THAT(read("").broken.what, HasSubstr("empty"));
}

}  // namespace
}  // namespace kw::table
