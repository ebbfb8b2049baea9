#include "loop/exports/atif.h"

#include <boost/json/array.hpp>
#include <limits>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "exports_world.h"

namespace kw::exports {
namespace {

namespace json = boost::json;
using store::three_turns;

TEST(Atif, ATrajectoryHasThePromptTheAnswersAndTheFeedback) {
  auto made = trajectories_of(three_turns(), {"run", "0.1"});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].at("schema_version"), "ATIF-v1.8");
  EXPECT_EQ(made[0].at("trajectory_id"), "kernelbook/7~1#round-1");
  const json::array& steps = made[0].at("steps").as_array();
  std::string sources;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    EXPECT_EQ(steps[at].at("step_id"), at + 1);
    sources += std::string(steps[at].at("source").as_string()) + " ";
  }
  EXPECT_EQ(sources, "system user agent user agent user agent ");
  EXPECT_EQ(steps[2].at("reasoning_content"), "thought 1");
  EXPECT_EQ(steps[2].at("metrics").at("completion_tokens"), 20);
  EXPECT_EQ(steps[6].at("observation").at("results").at(0).at("extra").at("verdict").at("speedup"), 2.5);
  EXPECT_EQ(made[0].at("final_metrics").at("total_prompt_tokens"), 300);
}

TEST(Atif, EachRoundIsATrajectory) {
  Trace t = three_turns();
  t.rounds.push_back({{store::turn(1, "d")}, StopReason::max_turns_reached, "ended"});
  auto made = trajectories_of(t, {});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[1].at("trajectory_id"), "kernelbook/7~1#round-2");
  EXPECT_EQ(made[1].at("notes"), "ended");
  EXPECT_EQ(made[0].at("extra").at("represents_the_trace"), true);
  EXPECT_EQ(made[1].at("extra").at("represents_the_trace"), false);
}

TEST(Atif, HostileTextStaysJsonAndTimesStayTimes) {
  Trace t = three_turns();
  t.rounds[0].turns[0].completion = std::string("a\0\xff", 3);
  t.rounds[0].turns[0].answered_at = "now";
  t.rounds[0].turns[0].generation_ms = std::numeric_limits<double>::quiet_NaN();
  t.prompt.push_back({"tool", "?"});
  Folder folder;
  TracesInMemory reader({t});
  ASSERT_TRUE(write_atif(reader, folder.path("x.jsonl"), "0.1"));
  std::string text = *read_file(folder.path("x.jsonl"));
  EXPECT_TRUE(is_utf8(text));
  auto row = parse_json(trim(text));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->at("steps").at(2).at("source"), "user");
  EXPECT_FALSE(row->at("steps").at(3).as_object().contains("timestamp"));
}

TEST(Atif, AListHasOneTrajectoryALine) {
  Folder folder;
  TracesInMemory reader({three_turns(), three_turns()});
  ASSERT_TRUE(write_atif(reader, folder.path("x.json"), "0.1"));
  auto list = parse_json(*read_file(folder.path("x.json")));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->as_array().size(), 2U);
  EXPECT_TRUE(is_atif(folder.path("x.json")));
  folder.write("y.json", R"([{"schema_version":"ATIF-v1.8","agent":{"name":"other"}}])");
  EXPECT_FALSE(is_atif(folder.path("y.json")));
}

TEST(Atif, ATraceWithoutStepsIsLeftOut) {
  Folder folder;
  Trace none;
  none.rounds.emplace_back();
  TracesInMemory reader({none});
  auto exported = write_atif(reader, folder.path("x.json"), "0.1");
  ASSERT_TRUE(exported);
  EXPECT_EQ(exported->without_any, 1U);
  EXPECT_FALSE(std::filesystem::exists(folder.path("x.json")));
}

}  // namespace
}  // namespace kw::exports
