// JSON lines and JSON lists as rows.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <thread>

#include "base/core/standard_input.h"
#include "base/rows/row_reader.h"
#include "rows_world.h"

namespace kw::table {
namespace {

using testing::HasSubstr;

struct Jsonl : testing::Test {
  Seen read(const std::string& bytes, const ReadOptions& options = {},
            const std::string& name = "rows.jsonl") {
    return read_all(folder.write(name, bytes), options);
  }
  Folder folder;
};

TEST_F(Jsonl, PromptAndCompletionAreTakenAndTheRestIsKept) {
  Seen seen = read("\xEF\xBB\xBF{\"prompt\":\"a\\n\",\"completion\":\"b\",\"meta\":{\"n\":[1,null]}}\r\n\n");
  ASSERT_EQ(seen.good.size(), 1U);
  EXPECT_EQ(seen.good[0].prompt, "a\n");
  EXPECT_EQ(seen.good[0].completion, "b");
  EXPECT_EQ(seen.good[0].rest.at("meta").at("n").as_array().size(), 2U);
  EXPECT_TRUE(seen.rows->raw(0)->starts_with('{') && seen.rows->raw(0)->ends_with('}'));
}

TEST_F(Jsonl, MessagesAreJoined) {
  Seen seen = read(R"({"prompt":[{"role":"system","content":"s"},{"role":"user","content":[)"
                   R"({"type":"text","text":"u"},{"type":"image"}]}],)"
                   R"("completion":[{"role":"assistant","content":"c"},{"role":"tool","content":null}]})");
  ASSERT_EQ(seen.good.size(), 1U);
  EXPECT_EQ(seen.good[0].prompt, "s\nu");
  EXPECT_EQ(seen.good[0].completion, "c\n");
}

TEST_F(Jsonl, WhatIsNoRowIsBadAndTheNextIsRead) {
  Seen seen = read(
      "{\"prompt\":1,\"completion\":\"b\"}\n[]\n{\"prompt\":\"a\"}\n{\"prompt\":\n"
      "{\"prompt\":\"\xFF\",\"completion\":\"\"}\n{\"prompt\":\"\\ud800\",\"completion\":\"\"}\n"
      "{\"prompt\":\"a\",\"completion\":\"b\"}\n");
  // The first object determines the columns, whatever its values.
  ASSERT_EQ(seen.bad.size(), 6U);
  EXPECT_EQ(describe(seen.bad[1]),
            folder.path("rows.jsonl") + ", row 2: not a JSON object (one JSON object a line)");
  EXPECT_THAT(seen.bad[2].what, HasSubstr("no column completion"));
  EXPECT_THAT(seen.bad[4].what, HasSubstr("UTF-8"));
  EXPECT_EQ(seen.good.size(), 1U);
}

TEST_F(Jsonl, StandardInputIsNamedInWords) {
  EXPECT_EQ(kw::describe(RowError{"-", 2, "not UTF-8", ""}), "standard input, row 2: not UTF-8");
  EXPECT_EQ(about_standard_input({"/proc/self/fd/3 is no list", ""}, "/proc/self/fd/3").what,
            "standard input is no list");
  EXPECT_EQ(about_standard_input({"a.json is no list", ""}, "a.json").what, "a.json is no list");
}

TEST_F(Jsonl, APipeIsRefusedWhichIsReadTwice) {
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto rows = kw::open_rows(pipe, {});
  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error().what, HasSubstr("is a pipe"));
}

TEST_F(Jsonl, DeepNestingIsABadRow) {
  Seen seen = read("{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"prompt\":" + std::string(100000, '[') + "\n");
  EXPECT_EQ(seen.bad.size(), 1U);
}

TEST_F(Jsonl, ALineOverTheBoundIsPassedOver) {
  std::string row = "{\"prompt\":\"a\",\"completion\":\"b\"}\n";
  Seen seen = read(row + std::string(9 << 20, ' ') + row + row, {.longest_row_bytes = 1 << 20});
  ASSERT_EQ(seen.bad.size(), 1U);
  EXPECT_EQ(seen.bad[0].row, 2U);
  ASSERT_EQ(seen.good.size(), 2U);
  EXPECT_EQ(seen.rows->at(1)->completion, "b");
}

TEST_F(Jsonl, ALineLargerThanABlockIsRead) {
  std::string text(5 << 20, 'x');
  Seen seen =
      read("{\"prompt\":\"" + text + "\",\"completion\":\"b\"}\n{\"prompt\":\"c\",\"completion\":\"d\"}");
  ASSERT_EQ(seen.good.size(), 2U);
  EXPECT_EQ(seen.good[0].prompt, text);
  EXPECT_EQ(seen.rows->at(0)->prompt, text);
  EXPECT_EQ(seen.good[1].prompt, "c");
}

TEST_F(Jsonl, RowsAreReadAgainFromSeveralThreads) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += "{\"prompt\":\"p" + std::to_string(i) + "\",\"completion\":\"" + std::string(1000, 'c') +
            "\"}\n" + (i % 3 == 0 ? "bad\n" : "");
  Seen seen = read(text);
  ASSERT_EQ(seen.rows->count(), 2000U);
  auto look = [&](std::uint64_t first) {
    for (std::uint64_t i = first; i < 2000; i += 2)
      EXPECT_EQ(seen.rows->at(i)->prompt, "p" + std::to_string(i));
  };
  std::jthread other(look, 1);
  look(0);
}

TEST_F(Jsonl, ANumberBeyondTheRowsIsAnError) {
  Seen seen = read("{\"prompt\":\"a\",\"completion\":\"b\"}\n");
  EXPECT_THAT(seen.rows->at(1).error().what, HasSubstr("1 good rows"));
}

TEST_F(Jsonl, AFileThatWasChangedIsAnErrorNotACrash) {
  Seen seen = read("{\"prompt\":\"a\",\"completion\":\"b\"}\n");
  std::filesystem::resize_file(folder.path("rows.jsonl"), 5);
  EXPECT_THAT(seen.rows->at(0).error().what, HasSubstr("shorter"));
}

TEST_F(Jsonl, OneColumnOfTextIsTheCompletion) {
  Seen seen = read("{\"name\":\"n\",\"code\":\"import torch\"}\n", {.single_text = true});
  ASSERT_EQ(seen.good.size(), 1U);
  EXPECT_EQ(seen.good[0].prompt, "");
  EXPECT_EQ(seen.good[0].completion, "import torch");
  EXPECT_EQ(seen.good[0].rest.at("name").as_string(), "n");
}

TEST_F(Jsonl, WithoutAColumnOfTextThoseFoundAreNamed) {
  EXPECT_THAT(read("{\"name\":\"n\"}\n", {.single_text = true}).broken.what, HasSubstr("it has name"));
}

TEST_F(Jsonl, AnEmptyFileHasNoRows) {
  Seen seen = read("");
  EXPECT_EQ(seen.broken.what, "");
  EXPECT_EQ(seen.good.size(), 0U);
}

TEST_F(Jsonl, AJsonListIsReadLikeLines) {
  Seen seen = read(" [{\"prompt\":\"a\",\"completion\":\"b\"},\n 3, {\"prompt\":\"c\",\"completion\":\"d\"}]",
                   {}, "rows.json");
  ASSERT_EQ(seen.good.size(), 2U);
  EXPECT_EQ(seen.bad.at(0).row, 2U);
  EXPECT_EQ(seen.rows->at(1)->prompt, "c");
}

TEST_F(Jsonl, LinesMayStandInAJsonFile) {
  EXPECT_EQ(read("{\"prompt\":\"a\",\"completion\":\"b\"}\n", {}, "rows.json").good.size(), 1U);
}

TEST_F(Jsonl, AFolderAMissingFileAndAnUnknownEndingAreErrors) {
  EXPECT_THAT(read_all(folder.path("none.csv")).broken.what, HasSubstr("none.csv"));
  std::filesystem::create_directory(folder.path("f.jsonl"));
  EXPECT_THAT(read_all(folder.path("f.jsonl")).broken.what, HasSubstr("directory"));
  EXPECT_THAT(read("x", {}, "rows.txt").broken.what, HasSubstr(".parquet"));
}

}  // namespace
}  // namespace kw::table
