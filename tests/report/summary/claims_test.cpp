// Claims state what the verdicts hold, and comparisons what differs.
#include <gmock/gmock.h>

#include "report/summary/compare.h"
#include "report/summary/overview.h"
#include "report_world.h"

namespace kw::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string claim(const Index& index, std::string_view figure) {
  for (const Claim& each : claims_of(index, summarise(index)))
    if (each.figure == figure) return each.text;
  return {};
}

IndexWorld measured() {
  IndexWorld world;
  for (const char* task : {"a", "b", "c"}) {
    std::size_t row = world.add({.task = task, .speedup = 1.5});
    Rows& rows = world.index.rows;
    rows.gpu.set(row, "NVIDIA H200");
    rows.trust.set(row, "replay");
    rows.instrument.set(row, "replay");
    rows.clock_sm_mhz.set(row, 1980);
    rows.protocol.set(row, "p1");
    rows.dtype.set(row, "float16");
    rows.task_source.set(row, "kernelbench");
    rows.level.set(row, "1");
  }
  return world;
}

TEST(Claims, StateTheConditionsOfTheMeasurement) {
  std::string text = claim(measured().index, "fast_1");
  for (const char* part :
       {"faster than PyTorch eager", "1.000 (95% interval", "Wilson", "3 tasks from kernelbench level 1",
        "each with the share of its samples", "3 samples", "dtype float16", "timer replay",
        "SM clock 1980 MHz", "throttling none", "GPU NVIDIA H200", "protocol p1", "trust replay"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

TEST(Claims, WithoutAGpuSayThatSpeedIsNotMeasured) {
  IndexWorld world;
  world.index.rows.trust.set(world.add({}), "interpreter");
  world.index.rows.protocol.set(0, "p1");
  EXPECT_EQ(claim(world.index, "fast_1"), "");
  EXPECT_THAT(claim(world.index, "fast_0"),
              AllOf(HasSubstr("speed not measured: no GPU"), HasSubstr("trust interpreter"),
                    HasSubstr("GPU none (Triton's interpreter)")));
  EXPECT_EQ(claim(world.index, "geometric_mean_speedup"), "");
}

TEST(Claims, SayWhatIsNotRecorded) {
  IndexWorld world;
  world.add({.speedup = 2});
  EXPECT_THAT(claim(world.index, "fast_1"),
              AllOf(HasSubstr("dtype not recorded"), HasSubstr("SM clock not recorded"),
                    HasSubstr("throttling not recorded"), HasSubstr("GPU not recorded"),
                    HasSubstr("trust not recorded")));
}

TEST(Claims, CountDifferentConditions) {
  IndexWorld world = measured();
  world.index.rows.gpu.set(0, "NVIDIA H100");
  world.index.rows.protocol.set(1, "");
  EXPECT_THAT(claim(world.index, "fast_1"), AllOf(HasSubstr("GPU NVIDIA H200 (2), NVIDIA H100 (1)"),
                                                  HasSubstr("protocol p1 (2), not recorded (1)")));
}

TEST(Claims, GiveBoundsWhereSpeedsAreUnknown) {
  IndexWorld world = measured();
  world.add({.task = "d"});
  std::string text = claim(world.index, "fast_1");
  EXPECT_THAT(
      text, HasSubstr("between 0.750 and 1.000 (no value: 1 sample of right answers without a known speed)"));
}

TEST(Claims, TellOfBestTurnsAndOfSamplesThatAreLeftOut) {
  IndexWorld world = measured();
  world.index.rows.turns.set(0, 4);
  world.add({.task = "d", .standing = "unknown"});
  EXPECT_THAT(claim(world.index, "fast_0"),
              AllOf(HasSubstr("best turn of up to 4"), HasSubstr("3 samples, 1 not judged and left out")));
}

TEST(Claims, AreNoneWhereNothingWasJudged) {
  IndexWorld world;
  world.add({.standing = "unknown"});
  EXPECT_TRUE(claims_of(world.index, summarise(world.index)).empty());
}

TEST(Claims, NameHiddenCharactersAndCutLongNames) {
  IndexWorld world = measured();
  world.index.rows.gpu.set(0, "a\xe2\x80\xae\x1b[31m\n" + std::string(10'000, 'x'));
  std::string text = claim(world.index, "fast_1");
  EXPECT_THAT(text, AllOf(HasSubstr("<U+202E>"), Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
  EXPECT_LT(text.size(), 2000U);
}

TEST(Claims, OfAnUnfinishedSourceSaySoAndCountWhatHasEnded) {
  IndexWorld world = measured();
  world.index.sources[0].state = SourceState::interrupted;
  world.index.rows.unfinished.set(world.add({.task = "d", .standing = "wrong"}), true);
  EXPECT_THAT(claim(world.index, "fast_0"),
              AllOf(testing::StartsWith("unfinished: fast_0"), HasSubstr("= 1.000"),
                    HasSubstr("3 samples of the 3 that have ended; 1 is unfinished")));
}

TEST(Claims, OfSeveralSourcesAreThoseOfEachByName) {
  IndexWorld world;
  world.add_source("two");
  world.add({.task = "a", .standing = "wrong"});
  world.add({.task = "a", .source = 1});
  Overview overview = overview_of(world.index);
  ASSERT_EQ(overview.claims.size(), 2U);
  EXPECT_THAT(overview.claims[0].text,
              testing::StartsWith("source one: fast_0 (right and counting) = 0.000"));
  EXPECT_THAT(overview.claims[1].text,
              testing::StartsWith("source two: fast_0 (right and counting) = 1.000"));
  EXPECT_EQ(overview.claims[1].source, 1U);
  EXPECT_EQ(overview.by_source.size(), 2U);
  EXPECT_EQ(pooled_words(overview), "pooled over 2 sources");
  boost::json::object object = to_json(overview);
  EXPECT_EQ(object["by_source"].as_array()[1].as_object().at("right"), 1);
}

TEST(Claims, OfOneJudgedSourceAreNotPooled) {
  IndexWorld world = measured();
  world.add_source("empty");
  Overview overview = overview_of(world.index);
  EXPECT_FALSE(overview.is_pooled());
  EXPECT_THAT(overview.claims[0].text, testing::StartsWith("fast_0"));
}

IndexWorld two_sources(int flipped) {
  IndexWorld world;
  world.add_source("two");
  for (int i = 0; i < 12; ++i) {
    std::string task = "task " + std::to_string(100 + i);
    world.add({.task = task.c_str(), .standing = i < flipped ? "wrong" : "right", .source = 0});
    world.add({.task = task.c_str(), .standing = "right", .source = 1});
  }
  return world;
}

TEST(Comparison, CountsWinsWithTheirSignificance) {
  boost::json::object object = comparison_json(two_sources(8).index, 0, 1);
  const boost::json::object& right = object["measures"].as_array()[0].as_object();
  EXPECT_EQ(right.at("name"), "right");
  EXPECT_EQ(right.at("gained"), 8);
  EXPECT_EQ(right.at("lost"), 0);
  EXPECT_EQ(right.at("method"), "exact McNemar");
  EXPECT_NEAR(right.at("p_value").as_double(), 2.0 / 256, 1e-9);
  EXPECT_EQ(right.at("significant"), true);
  EXPECT_EQ(object["flipped_count"], 8);
  EXPECT_EQ(object["flipped"].as_array()[0].as_object().at("before"), 0);
}

TEST(Comparison, OfEqualSourcesHasNoFlip) {
  boost::json::object object = comparison_json(two_sources(0).index, 0, 1);
  EXPECT_EQ(object["flipped_count"], 0);
  EXPECT_EQ(object["measures"].as_array()[0].as_object().at("significant"), false);
}

TEST(Comparison, ListsLossesFirst) {
  IndexWorld world;
  world.add_source("two");
  for (auto [task, before, after] : {std::tuple{"a", "wrong", "right"}, {"b", "right", "wrong"}}) {
    world.add({.task = task, .standing = before});
    world.add({.task = task, .standing = after, .source = 1});
  }
  auto flips = flipped_tasks(world.index, 0, 1);
  ASSERT_EQ(flips.size(), 2U);
  EXPECT_EQ(flips[0].task_id, "b");
}

TEST(Comparison, ListsSettingsThatDiffer) {
  IndexWorld world = two_sources(1);
  world.index.sources[0].facts = {{"model", "m"}, {"seed", 1}, {"only", true}, {"created_at", "2026-01-01"}};
  world.index.sources[1].facts = {{"model", "n"}, {"seed", 1}, {"created_at", "2026-01-02"}};
  boost::json::object object = comparison_json(world.index, 0, 1);
  EXPECT_EQ(object["settings"],
            (boost::json::array{{{"name", "model"}, {"before", "m"}, {"after", "n"}},
                                {{"name", "only"}, {"before", true}, {"after", nullptr}}}));
}

TEST(Comparison, LeavesOutSourcesWithoutJudgedRows) {
  IndexWorld world = two_sources(1);
  world.add_source("empty");
  EXPECT_EQ(comparisons_json(world.index).size(), 1U);
  EXPECT_TRUE(comparisons_json(IndexWorld().index).empty());
}

}  // namespace
}  // namespace kw::report
