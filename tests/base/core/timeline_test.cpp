// The file of a timeline: a JSON array at every time, rows that are used again, and a disk that is full.
#include "base/core/timeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <optional>

#include "base/core/json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class TimelineFile : public testing::Test {
 protected:
  TimelineFile() : timeline(Timeline::create(file).value()) {}
  ~TimelineFile() override { fs::remove(file); }

  std::string text() const { return read_file(file).value(); }
  // The events of the kind `X`: spans.
  json::array spans() const {
    json::array found;
    for (const json::value& event : json::parse(text()).as_array())
      if (event.at("ph") == "X") found.push_back(event);
    return found;
  }

  fs::path file = fs::temp_directory_path() / ("timeline_test." + std::to_string(::getpid()));
  std::shared_ptr<Timeline> timeline;
};

TEST_F(TimelineFile, HoldsASpanWithItsRowAndItsFacts) {
  const auto row = Timeline::row(timeline, "verdicts");
  row.add("softmax", Timeline::Clock::now(), {{"status", "correct"}});
  ASSERT_TRUE(timeline->finish());
  const json::array found = spans();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at("name"), "softmax");
  EXPECT_EQ(found[0].at("pid"), 1);
  EXPECT_EQ(found[0].at("tid"), 1);
  EXPECT_EQ(found[0].at("args").at("status"), "correct");
  EXPECT_GE(found[0].at("ts").to_number<double>(), 0);
}

TEST_F(TimelineFile, OfTwoGroupsHasTwoNames) {
  const auto verdicts = Timeline::row(timeline, "verdicts");
  const auto runners = Timeline::row(timeline, "runners");
  ASSERT_TRUE(timeline->finish());
  std::vector<std::string> names;
  for (const json::value& event : json::parse(text()).as_array())
    if (event.at("name") == "process_name") names.emplace_back(event.at("args").at("name").as_string());
  EXPECT_EQ(names, (std::vector<std::string>{"verdicts", "runners"}));
}

TEST_F(TimelineFile, GivesARowToTheNextWhenItsHolderIsGone) {
  std::optional<Timeline::Row> first(Timeline::row(timeline, "runners"));
  const auto second = Timeline::row(timeline, "runners");
  first.reset();
  const auto third = Timeline::row(timeline, "runners");
  second.add("second", Timeline::Clock::now());
  third.add("third", Timeline::Clock::now());
  ASSERT_TRUE(timeline->finish());
  EXPECT_EQ(spans()[0].at("tid"), 2);
  EXPECT_EQ(spans()[1].at("tid"), 1);
}

TEST_F(TimelineFile, LacksOnlyItsLastBracketBeforeTheEnd) {
  const auto row = Timeline::row(timeline, "verdicts");
  {
    const Timeline::Span span(row, "prepare");
  }
  EXPECT_EQ(json::parse(text() + "]").as_array().size(), 3U);
}

TEST_F(TimelineFile, OfNothingIsAnEmptyArray) {
  ASSERT_TRUE(timeline->finish());
  EXPECT_EQ(json::parse(text()), json::array());
}

TEST_F(TimelineFile, ReplacesBytesThatAreNoText) {
  const auto row = Timeline::row(timeline, "verdicts");
  row.add("a\xff\"b", Timeline::Clock::now());
  ASSERT_TRUE(timeline->finish());
  EXPECT_EQ(spans()[0].at("name"), "a\uFFFD\"b");
}

TEST(Timeline, OfNobodyKeepsNothing) {
  const auto row = Timeline::row(nullptr, "verdicts");
  const Timeline::Span span(row, "prepare");
  EXPECT_FALSE(row);
}

TEST(Timeline, NamesAFileThatCannotBeWritten) {
  auto created = Timeline::create("/nonexistent/timeline.json");
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().what, "cannot write /nonexistent/timeline.json: No such file or directory");
}

TEST(Timeline, SaysAtItsEndThatTheDiskWasFull) {
  auto timeline = Timeline::create("/dev/full").value();
  const auto row = Timeline::row(timeline, "verdicts");
  row.add("softmax", Timeline::Clock::now());
  auto ended = timeline->finish();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().what, "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace kw
