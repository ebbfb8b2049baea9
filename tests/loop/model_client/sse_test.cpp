#include "loop/model_client/answer_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace kw::llm {
namespace {

std::vector<std::string> data_of(const std::vector<std::string>& pieces) {
  std::vector<std::string> data;
  SseParser parser(1000, [&](const SseEvent& event) { data.push_back(event.name + "|" + event.data); });
  for (const std::string& piece : pieces) EXPECT_TRUE(parser.feed(piece));
  parser.finish();
  return data;
}

using Texts = std::vector<std::string>;

TEST(Sse, AnEventIsItsDataLines) {
  EXPECT_EQ(data_of({"data: one\n\ndata:two\ndata: lines\n\n"}), (Texts{"|one", "|two\nlines"}));
}

TEST(Sse, CommentsAndOtherFieldsAreNoEvents) {
  EXPECT_EQ(data_of({": ping\n\nid: 7\nretry: 5\n\nevent: error\ndata: x\n\n"}), (Texts{"error|x"}));
}

TEST(Sse, OnlyTheFirstBlankOfAValueIsDropped) {
  EXPECT_EQ(data_of({"data:  x \n\n"}), (Texts{"| x "}));
}

TEST(Sse, AnEventWithoutItsBlankLineCounts) {
  EXPECT_EQ(data_of({"data: a\n\ndata: b"}), (Texts{"|a", "|b"}));
}

TEST(Sse, AByteOrderMarkIsNoPartOfTheFirstLine) {
  EXPECT_EQ(data_of({"\xEF\xBB\xBF"
                     "data: a\n\n"}),
            (Texts{"|a"}));
}

TEST(Sse, ThreeKindsOfLineEndMeanTheSame) {
  Texts expected{"|a\nb", "|c"};
  EXPECT_EQ(data_of({"data: a\ndata: b\n\ndata: c\n\n"}), expected);
  EXPECT_EQ(data_of({"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n"}), expected);
  EXPECT_EQ(data_of({"data: a\rdata: b\r\rdata: c\r\r"}), expected);
}

TEST(Sse, ACutAnywhereChangesNothing) {
  std::string text =
      ": c\r\ndata: {\"x\":\"\u00e4\U0001F600\"}\r\n\r\nevent: e\ndata: a\ndata:\ndata: b\n\ndata: "
      "[DONE]\n\n";
  Texts whole = data_of({text});
  EXPECT_EQ(whole.size(), 3U);
  for (std::size_t i = 0; i <= text.size(); ++i)
    for (std::size_t j = i; j <= text.size(); j += 3)
      ASSERT_EQ(data_of({text.substr(0, i), text.substr(i, j - i), text.substr(j)}), whole) << i << ", " << j;
}

TEST(Sse, OneByteAtATimeIsEnough) {
  std::string text = "data: a\r\n\r\ndata: \u00e4\n\n";
  Texts pieces;
  for (char c : text) pieces.emplace_back(1, c);
  EXPECT_EQ(data_of(pieces), data_of({text}));
}

TEST(Sse, AnEventOverTheBoundEndsIt) {
  SseParser parser(10, [](const SseEvent&) {});
  EXPECT_TRUE(parser.feed("data: 123\n\ndata: 123\n\n"));
  EXPECT_FALSE(parser.feed("data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\n"));
}

}  // namespace
}  // namespace kw::llm
