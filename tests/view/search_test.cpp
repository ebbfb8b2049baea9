// The search through details, and the index as the server reads it.
#include "view/search.h"

#include <gmock/gmock.h>

#include "base/core/text.h"
#include "view_world.h"

namespace kw::view::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct SearchWorld {
  SearchWorld() : rows(std::make_shared<Rows>()), model(rows) {}

  std::vector<json::object> hits(const std::string& text, std::size_t limit = 200) {
    Search search(std::make_shared<const Edition>(*make_edition(rows->index(), 1)), {text, limit});
    std::vector<json::object> found;
    while (!search.is_done()) {
      auto lines = search.next(model);
      for (std::size_t at = 0; at < lines->size();) {
        std::size_t end = lines->find('\n', at);
        found.push_back(json::parse(lines->substr(at, end - at)).get_object());
        at = end + 1;
      }
    }
    return found;
  }

  std::shared_ptr<Rows> rows;
  RowsModel model;
};

TEST(Search, NamesTheTurnTheFieldAndTheLine) {
  SearchWorld world;
  json::array turns{json::object{{"turn", 1}, {"full_completion", "no"}},
                    json::object{{"turn", 2}, {"full_completion", "x\ny TL.Dot(z)"}}};
  world.rows->add("a", {{"kind", "trace"}, {"trace", json::object{{"turns", turns}}}});
  world.rows->add("b", {{"kind", "trace"}});
  auto hits = world.hits("tl.dot(");
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0]["key"], "a");
  EXPECT_EQ(hits[0]["turn"], 2);
  EXPECT_EQ(hits[0]["field"], "completion");
  EXPECT_EQ(hits[0]["line"], 2);
  EXPECT_EQ(hits[0]["text"], "y TL.Dot(z)");
}

TEST(Search, FindsTextThatJsonEscapes) {
  SearchWorld world;
  world.rows->add("a", {{"kernel_code", "say \"hello\"\n\tworld \\ end é"}});
  EXPECT_THAT(world.hits("say \"HELLO\""), SizeIs(1));
  EXPECT_THAT(world.hits("\tworld \\"), SizeIs(1));
  EXPECT_THAT(world.hits("é"), SizeIs(1));
  EXPECT_THAT(world.hits("\\n"), IsEmpty());
}

TEST(Search, FindsALineOfAnAnswersCodeOnce) {
  SearchWorld world;
  json::object turn{{"turn", 1},
                    {"full_completion", "Here:\n  tl.dot(a)\nand tl.dot"},
                    {"triton_code", "tl.dot(a)\n"},
                    {"result", json::object{{"error", "in tl.dot"}}}};
  world.rows->add("a", {{"trace", json::object{{"turns", json::array{turn}}}}});
  std::vector<std::string> fields;
  for (const json::object& hit : world.hits("tl.dot")) fields.emplace_back(hit.at("field").as_string());
  EXPECT_THAT(fields, testing::ElementsAre("code", "completion", "error"));
}

TEST(Search, FindsTheTextsOfARow) {
  SearchWorld world;
  json::array messages{json::object{{"role", "user"}, {"content", "a needle"}}};
  world.rows->add("a",
                  {{"row", json::object{{"completion", "needle"}, {"messages", messages}, {"tokens", 3}}}});
  EXPECT_THAT(world.hits("needle"), SizeIs(2));
}

TEST(Search, SurvivesDetailsOfAnotherShape) {
  SearchWorld world;
  world.rows->add("a", {{"trace", "needle"}, {"explained", 3}, {"row", json::array{"needle"}}});
  world.rows->add("b", {{"trace", json::object{{"turns", "needle"}, {"prompt", json::array{"needle", 1}}}}});
  EXPECT_THAT(world.hits("needle"), IsEmpty());
}

TEST(Search, DoesNotFindNamesOfFields) {
  SearchWorld world;
  world.rows->add("a", {{"kind", "verdict"}, {"kernel_code", "x"}});
  EXPECT_THAT(world.hits("kernel_code"), IsEmpty());
  EXPECT_THAT(world.hits("verdict"), IsEmpty());
}

TEST(Search, StopsAtItsLimit) {
  SearchWorld world;
  for (int i = 0; i < 100; ++i) world.rows->add(std::to_string(i), {{"kernel_code", "same\nsame\nsame"}});
  EXPECT_THAT(world.hits("same", 7), SizeIs(7));
}

TEST(Search, CutsALongLineBetweenCharacters) {
  SearchWorld world;
  std::string line;
  for (int i = 0; i < 200; ++i) line += "é";
  world.rows->add("a", {{"kernel_code", line + "needle" + line}});
  auto hits = world.hits("needle");
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_TRUE(is_utf8(std::string(hits[0]["text"].as_string())));
  EXPECT_LE(hits[0]["text"].as_string().size(), 200U);
}

TEST(Edition, ReadsColumnsOfWords) {
  auto edition = make_edition(
      R"({"sources": [{"state": "finished"}, {"state": "damaged"}], "rows": {"count": 3, "columns": {
        "key": ["a", "b", "c"], "standing": {"words": ["right", "wrong"], "at": [1, -1, 0]},
        "status": ["x", "infrastructure", "x"], "source": [0, 1, null]}}})",
      7);
  ASSERT_TRUE(edition);
  EXPECT_EQ(edition->state, "damaged");
  ASSERT_THAT(edition->rows, SizeIs(3));
  EXPECT_EQ(edition->rows[0].status, "wrong");
  EXPECT_EQ(edition->rows[1].status, "infrastructure");
  EXPECT_EQ(edition->rows[1].source, 1U);
}

TEST(Edition, OfABrokenIndexIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"rows": 3})", R"({"rows": {"count": 1}})"})
    EXPECT_FALSE(make_edition(text, 1)) << text;
  EXPECT_TRUE(
      make_edition(R"({"rows": {"count": 99, "columns": {"key": {"words": 1, "at": [5, "x"]}}}})", 1));
}

}  // namespace
}  // namespace kw::view::test
