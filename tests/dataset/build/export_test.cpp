#include "dataset/build/write.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "world.h"

namespace kw::dataset {
namespace {

const char* rows =
    R"({"prompt":"p1","completion":"c1","split":"train","labels":{"compile":"compilable","atomics":false},"leakage":[]}
{"prompt":"p2","completion":"c2","split":"train","labels":{"compile":"fails","atomics":true},"leakage":[{"relation":"rows"}]}
{"prompt":"p3","completion":"c3","split":"validation","labels":{"compile":"compilable","atomics":true},"leakage":[]}
)";

ExportSettings export_settings(const World& world, const char* out) {
  ExportSettings settings;
  settings.source = world.folder().string();
  settings.out = world.folder() / out;
  settings.spill = world.folder();
  return settings;
}

TEST(Export, WritesPromptAndCompletionOfABuild) {
  World world;
  world.write("fim.jsonl", rows);
  auto tally = export_rows(export_settings(world, "out.csv"));
  ASSERT_TRUE(tally) << tally.error().what;
  EXPECT_EQ(world.read("out.csv"), "prompt,completion\np1,c1\np2,c2\np3,c3\n");
}

TEST(Export, TakesRowsWithTheSplitAndAllLabels) {
  World world;
  world.write("fim.jsonl", rows);
  auto own = export_settings(world, "out.jsonl");
  own.split = "validation";
  own.labels = {"compilable", "atomics"};
  ASSERT_TRUE(export_rows(own));
  EXPECT_EQ(world.read("out.jsonl"), "{\"prompt\":\"p3\",\"completion\":\"c3\"}\n");
}

TEST(Export, LeavesFlaggedRowsOutIfAsked) {
  World world;
  world.write("fim.jsonl", rows);
  auto own = export_settings(world, "out.csv");
  own.without_flags = true;
  ASSERT_TRUE(export_rows(own));
  EXPECT_EQ(world.read("out.csv"), "prompt,completion\np1,c1\np3,c3\n");
}

ReviewLabels labelled(const char* row_id, ReviewLabel label) {
  ReviewLog log;
  log.entries.push_back({{"key", "", "", row_id}, "Ada", label, "", ""});
  return ReviewLabels(log);
}

const char* rows_with_ids = R"({"id":"1","prompt":"p1","completion":"c1"}
{"id":"2","prompt":"p2","completion":"c2"}
)";

TEST(Export, LeavesOutWhatAReviewRejected) {
  World world;
  world.write("fim.jsonl", rows_with_ids);
  auto own = export_settings(world, "out.csv");
  own.reviews = labelled("2", ReviewLabel::suspicious);
  own.leave_out = {ReviewLabel::suspicious};
  ASSERT_TRUE(export_rows(own));
  EXPECT_EQ(world.read("out.csv"), "prompt,completion\np1,c1\n");
}

TEST(Export, HasTheLabelOfAReviewAmongTheMetadata) {
  World world;
  world.write("fim.jsonl", rows_with_ids);
  auto own = export_settings(world, "out.csv");
  own.metadata = true;
  own.reviews = labelled("2", ReviewLabel::wrong_idiom);
  ASSERT_TRUE(export_rows(own));
  EXPECT_NE(world.read("out.csv").find("p2,c2,wrong_idiom\n"), std::string::npos) << world.read("out.csv");
  EXPECT_NE(world.read("out.csv").find(",review\n"), std::string::npos);
}

TEST(Export, OfUnnamedRowsCannotLeaveOutLabels) {
  World world;
  world.write("fim.jsonl", rows);
  auto own = export_settings(world, "out.csv");
  own.leave_out = {ReviewLabel::suspicious};
  EXPECT_FALSE(export_rows(own));
}

TEST(Export, MakesConversations) {
  World world;
  world.write("fim.jsonl", rows);
  auto own = export_settings(world, "out.jsonl");
  own.messages = true;
  own.split = "validation";
  ASSERT_TRUE(export_rows(own));
  EXPECT_EQ(world.read("out.jsonl"),
            R"({"messages":[{"role":"user","content":"p3"},{"role":"assistant","content":"c3"}]})"
            "\n");
}

TEST(Export, KeepsTheOtherColumnsOfConversationsIfAsked) {
  World world;
  world.write("fim.jsonl", rows);
  auto own = export_settings(world, "out.jsonl");
  own.messages = own.metadata = true;
  own.split = "validation";
  ASSERT_TRUE(export_rows(own));
  auto row = boost::json::parse(world.read("out.jsonl")).as_object();
  EXPECT_EQ(row.at("messages").as_array().size(), 2U);
  EXPECT_FALSE(row.contains("prompt"));
  EXPECT_EQ(row.at("split").as_string(), "validation");
}

TEST(Export, KeepsAllColumnsIfAsked) {
  World world;
  world.write("fim.jsonl", rows);
  auto own = export_settings(world, "out.jsonl");
  own.metadata = true;
  ASSERT_TRUE(export_rows(own));
  EXPECT_EQ(world.read("out.jsonl"), rows);
}

TEST(Export, SaysThatAFileHasNoLabels) {
  World world;
  auto own = export_settings(world, "out.csv");
  own.source = world.write("plain.csv", "prompt,completion\na,b\n");
  own.labels = {"atomics"};
  auto tally = export_rows(own);
  ASSERT_FALSE(tally);
  EXPECT_NE(tally.error().what.find("labels"), std::string::npos);
}

TEST(Export, SaysWhatToDoWhereNothingIsLeft) {
  World world;
  world.write("fim.jsonl", rows);
  auto own = export_settings(world, "out.csv");
  own.kinds = {"trace"};
  EXPECT_FALSE(export_rows(own));
}

}  // namespace
}  // namespace kw::dataset
