// The queue of a review, its labels and their storing.
#include <gmock/gmock.h>

#include "base/core/files.h"
#include "types/job.h"
#include "types/trace.h"
#include "view/review_desk.h"
#include "view_world.h"

namespace kw::view::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Edition edition_of(std::size_t right, std::size_t wrong) {
  Edition edition;
  for (std::size_t i = 0; i < right + wrong; ++i)
    edition.rows.push_back({"key " + std::to_string(i), i < right ? "right" : "wrong", "s", 0});
  return edition;
}

std::vector<std::string> keys_of(const json::object& queue) {
  std::vector<std::string> keys;
  for (const json::value& key : queue.at("keys").as_array()) keys.emplace_back(key.as_string());
  return keys;
}

LabelRequest label_for(const std::string& key, const std::string& reviewer,
                       std::optional<ReviewLabel> label = ReviewLabel::good) {
  return {key, reviewer, label, "a note"};
}

TEST(Desk, DrawsFromEveryStratum) {
  Folder folder;
  ReviewDesk desk({folder.path("review.jsonl")});
  auto queue = desk.queue(edition_of(98, 2), {"Ada", 10, 42});
  ASSERT_TRUE(queue);
  auto keys = keys_of(*queue);
  EXPECT_THAT(keys, SizeIs(10));
  EXPECT_TRUE(std::ranges::any_of(keys, [](const auto& key) { return key == "key 98" || key == "key 99"; }));
}

TEST(Desk, KeepsADrawWhileTheRunGrows) {
  Folder folder;
  auto first = ReviewDesk({folder.path("review.jsonl")}).queue(edition_of(20, 5), {"Ada", 10, 42});
  auto later = ReviewDesk({folder.path("review.jsonl")}).queue(edition_of(200, 50), {"Bob", 10, 42});
  EXPECT_EQ(keys_of(*first), keys_of(*later));
}

TEST(Desk, StoresABoundedNumberOfDraws) {
  Folder folder;
  ReviewDesk desk({folder.path("review.jsonl")});
  for (std::uint64_t seed = 0; seed < 150; ++seed)
    EXPECT_THAT(keys_of(*desk.queue(edition_of(20, 0), {"Ada", 10, seed})), SizeIs(10));
  EXPECT_THAT(read_review_log(folder.path("review.jsonl"))->queues, SizeIs(100));
}

TEST(Desk, LeavesOutRowsThatAreGone) {
  Folder folder;
  ReviewDesk desk({folder.path("review.jsonl")});
  ASSERT_TRUE(desk.queue(edition_of(20, 0), {"Ada", 20, 42}));
  EXPECT_THAT(keys_of(*desk.queue(edition_of(3, 0), {"Ada", 20, 42})), SizeIs(3));
}

TEST(Desk, ShowsAReviewerTheirOwnLabelsAlone) {
  Folder folder;
  ReviewDesk desk({folder.path("review.jsonl")});
  Edition edition = edition_of(2, 2);
  ASSERT_TRUE(desk.store(edition, label_for("key 0", "Ada"), {}));
  ASSERT_TRUE(desk.store(edition, label_for("key 0", "Bob", ReviewLabel::unreadable), {}));
  ASSERT_TRUE(desk.store(edition, label_for("key 1", "Ada", ReviewLabel::unsure), {}));
  ASSERT_TRUE(desk.store(edition, label_for("key 1", "Ada", std::nullopt), {}));
  auto queue = desk.queue(edition, {"Ada", 4, 42});
  ASSERT_TRUE(queue);
  const json::object& labels = queue->at("labels").as_object();
  ASSERT_THAT(labels, SizeIs(1));
  EXPECT_EQ(labels.at("key 0").at("label"), "good");
  EXPECT_THAT(queue->at("words").as_array(),
              ElementsAre("good", "wrong_idiom", "unreadable", "suspicious", "unsure"));
  EXPECT_EQ(queue->at("agreement").as_array().at(0).at("pairs"), 1);
}

TEST(Desk, StoresEachInputsLabelsBesideIt) {
  Folder folder;
  ReviewDesk desk({folder.path("a.jsonl"), folder.path("b.jsonl")});
  Edition edition = edition_of(2, 0);
  edition.rows[1].source = 1;
  edition.rows[1].key = "s2/key 1";
  ASSERT_TRUE(desk.store(edition, label_for("s2/key 1", "Ada"), {"", "task", "sha", ""}));
  EXPECT_FALSE(std::filesystem::exists(folder.path("a.jsonl")));
  EXPECT_THAT(*read_file(folder.path("b.jsonl")), HasSubstr(R"("key":"key 1")"));
  EXPECT_THAT(*read_file(folder.path("b.jsonl")), HasSubstr(R"("candidate_sha256":"sha")"));
  EXPECT_TRUE(desk.queue(edition, {"Ada", 2, 42})->at("labels").as_object().contains("s2/key 1"));
}

TEST(Desk, SaysWhenALabelCannotBeStored) {
  Edition edition = edition_of(1, 0);
  auto stored = ReviewDesk({"/proc/review.jsonl"}).store(edition, label_for("key 0", "Ada"), {});
  ASSERT_FALSE(stored);
  EXPECT_THAT(stored.error().what, HasSubstr("cannot store the label"));
}

TEST(LabelOfThePage, IsReadAndChecked) {
  auto good = read_label(R"({"key": "k", "reviewer": " Ada ", "label": "wrong_idiom", "note": "why"})");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->reviewer, "Ada");
  EXPECT_EQ(good->label, ReviewLabel::wrong_idiom);
  EXPECT_EQ(read_label(R"({"key": "k", "reviewer": "Ada", "label": null})")->label, std::nullopt);
  const std::string long_note =
      R"({"key": "k", "reviewer": "Ada", "note": ")" + std::string(5000, 'x') + "\"}";
  for (const std::string& bad :
       std::vector<std::string>{"", "[]", "{}", R"({"key": "k"})", R"({"key": 1, "reviewer": "Ada"})",
                                R"({"key": "k", "reviewer": " "})", R"({"key": "k", "reviewer": "A\nB"})",
                                "{\"key\": \"k\", \"reviewer\": \"\\u202eAda\"}",
                                R"({"key": "k", "reviewer": "Ada", "label": "keep"})",
                                R"({"key": "k", "reviewer": "Ada", "label": 3})", long_note})
    EXPECT_FALSE(read_label(bad)) << bad;
}

TEST(ShownAnswer, OfATraceIsItsBestTurn) {
  json::object detail{
      {"key", "k"}, {"kind", "trace"}, {"trace", json::object{{"task_id", "t"}, {"turns", json::array()}}}};
  Trace trace;
  trace.task.task_id = "t";
  trace.rounds.resize(1);
  for (const char* code : {"first", "second"}) {
    Turn turn;
    turn.turn = trace.rounds[0].turns.size() + 1;
    turn.code = code;
    turn.completion = code;
    turn.verdict.emplace();
    turn.verdict->status = turn.turn == 1 ? Status::correct : Status::failed;
    turn.verdict->counts = turn.turn == 1;
    trace.rounds[0].turns.push_back(std::move(turn));
  }
  detail["trace"] = multi_turn_json(trace);
  auto shown = shown_answer(json::serialize(detail));
  ASSERT_TRUE(shown) << shown.error().what;
  EXPECT_EQ(shown->turn, 1U);
  EXPECT_EQ(shown->answer.task_id, "t");
  EXPECT_EQ(shown->answer.candidate_sha256, candidate_sha256("first"));
}

TEST(ShownAnswer, OfARowIsItsId) {
  auto shown = shown_answer(R"({"key": "k", "kind": "dataset", "row": {"metadata": {"id": "7"}}})");
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->answer.row_id, "7");
}

}  // namespace
}  // namespace kw::view::test
