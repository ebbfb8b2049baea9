// The figures over the rows of a report.
#include "report/summary/summary.h"

#include <gmock/gmock.h>
#include <boost/json/serialize.hpp>

#include <cmath>

#include "base/core/files.h"
#include "report_world.h"

namespace kw::report {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Summary, OfNothingHasNoFigure) {
  Summary summary = summarise(IndexWorld().index);
  EXPECT_EQ(summary.rows, 0U);
  EXPECT_FALSE(summary.fast_p.points.front().share.value);
  EXPECT_FALSE(summary.geometric_mean_speedup.value);
  EXPECT_FALSE(summary.generation_s);
  EXPECT_TRUE(summary.right_by_turn.empty());
}

TEST(Summary, CountsByStandingAndLeavesDataSetsOut) {
  IndexWorld world;
  world.add({.standing = "right"});
  world.add({.standing = "wrong"});
  world.add({.standing = "unknown"});
  world.add({.standing = ""});
  world.add({.standing = "right", .kind = "dataset"});
  Summary summary = summarise(world.index);
  EXPECT_EQ(summary.rows, 4U);
  EXPECT_EQ(summary.right, 1U);
  EXPECT_EQ(summary.wrong, 1U);
  EXPECT_EQ(summary.unknown, 2U);
  EXPECT_EQ(summary.tasks, 1U);
}

TEST(Summary, FastPIsThatOfScore) {
  IndexWorld world;
  world.add({.task = "a", .speedup = 2.5});
  world.add({.task = "a", .standing = "wrong"});
  world.add({.task = "b", .speedup = 0.9});
  world.add({.task = "c", .standing = "unknown"});
  Summary summary = summarise(world.index);
  EXPECT_EQ(summary.tasks, 2U);
  EXPECT_DOUBLE_EQ(*summary.fast_p.points[0].share.value, 0.75);  // p = 0
  EXPECT_DOUBLE_EQ(*summary.fast_p.points[3].share.value, 0.25);  // p = 1
  EXPECT_NEAR(*summary.geometric_mean_speedup.value, std::sqrt(2.5 * 0.9), 1e-12);
}

TEST(Summary, OfATraceThatHasNotEndedHasOnlyItsCosts) {
  IndexWorld world;
  world.add_turns(world.add({.task = "a", .speedup = 2}), {{.standing = "right"}});
  std::size_t open = world.add({.task = "b", .standing = "right", .speedup = 9});
  world.add_turns(open, {{.error_class = "timeout"}, {.standing = "right"}});
  world.index.rows.unfinished.set(open, true);
  world.index.rows.prompt_tokens.set(open, 7);
  Summary summary = summarise(world.index);
  EXPECT_EQ(summary.rows, 2U);
  EXPECT_EQ(summary.unfinished, 1U);
  EXPECT_EQ(summary.right, 1U);
  EXPECT_EQ(summary.unknown, 0U);
  EXPECT_EQ(summary.tasks, 1U);
  EXPECT_EQ(summary.fast_p.samples_not_judged, 0U);
  EXPECT_EQ(summary.right_by_turn.front().samples, 1U);
  EXPECT_TRUE(summary.errors_by_turn.empty());
  EXPECT_THAT(summary.best_kernel_of_task, ElementsAre(Pair("a", 0U)));
  EXPECT_EQ(summary.prompt_tokens, 7);
}

TEST(Summary, WithoutAnySpeedFastPAboveZeroHasNoValue) {
  for (const char* standing : {"right", "wrong"}) {
    IndexWorld world;
    world.index.rows.protocol.set(world.add({.standing = standing}), "p1");
    Summary summary = summarise(world.index);
    EXPECT_EQ(summary.no_speed, "no GPU");
    EXPECT_TRUE(summary.fast_p.points[0].share.value);
    const score::FastPoint& point = summary.fast_p.points[3];  // p = 1
    EXPECT_FALSE(point.share.value || point.at_least.value || point.at_most.value) << standing;
    EXPECT_EQ(point.share.why, "speed not measured: no GPU");
    world.index.rows.gpu.set(0, "NVIDIA H200");
    EXPECT_EQ(summarise(world.index).no_speed,
              std::string_view(standing) == "right" ? "no right answer was timed" : "no answer is right");
  }
}

TEST(Summary, CountsEvidenceRecordsOfTurnsAndOfBestTurns) {
  IndexWorld world;
  std::size_t row = world.add({});
  world.add_turns(row, {{}, {}, {.standing = "right"}});
  world.index.turns.evidence.set(0, true);
  world.index.turns.evidence.set(1, true);
  world.index.rows.evidence.set(row, false);
  world.index.rows.evidence.set(world.add({.kind = "verdict"}), true);
  EvidenceCounts counts = summarise(world.index).evidence;
  EXPECT_EQ(counts.kept, 3U);
  EXPECT_EQ(counts.judged, 4U);
  EXPECT_EQ(counts.best_kept, 1U);
  EXPECT_EQ(counts.best_judged, 2U);
}

TEST(Summary, ACorrectResultThatDoesNotCountMayLackItsReason) {
  IndexWorld world;
  std::size_t row = world.add({.standing = "wrong", .kind = "verdict"});
  world.index.rows.status.set(row, "correct");
  EXPECT_THAT(summarise(world.index).errors_by_turn[1], ElementsAre(Pair("no reason recorded", 1U)));
}

TEST(Summary, RowsWithoutATaskAreTasksOfTheirOwn) {
  IndexWorld world;
  world.add({.task = ""});
  world.add({.task = "", .standing = "wrong"});
  EXPECT_EQ(summarise(world.index).tasks, 2U);
}

TEST(Summary, ASpeedOfAWrongRowDoesNotCount) {
  IndexWorld world;
  world.add({.task = "a", .standing = "wrong", .speedup = 9});
  world.add({.task = "b", .speedup = 0});
  Summary summary = summarise(world.index);
  EXPECT_FALSE(summary.geometric_mean_speedup.value);
  EXPECT_EQ(summary.fast_p.points[3].unknown_speeds, 1U);
}

TEST(Summary, AgainstCompileNeedsATimeOfCompile) {
  IndexWorld world;
  world.add({.task = "a", .speedup = 3});
  EXPECT_FALSE(summarise(world.index).fast_p_compile);
  world.add({.task = "b", .speedup = 3, .compile_speedup = 1.5});
  Summary summary = summarise(world.index);
  ASSERT_TRUE(summary.fast_p_compile);
  EXPECT_DOUBLE_EQ(*summary.fast_p_compile->points[3].at_least.value, 0.5);
  EXPECT_DOUBLE_EQ(*summary.fast_p_compile->points[3].at_most.value, 1);
  EXPECT_FALSE(summary.fast_p_compile->points[3].share.value);
}

TEST(Summary, OfWantedRowsIsTheirs) {
  IndexWorld world;
  world.add({.task = "a"});
  world.add({.task = "b", .standing = "wrong"});
  world.add_turns(0, {{.standing = "right"}});
  world.add_turns(1, {{.error_class = "timeout"}});
  Summary summary = summarise(world.index, [](std::size_t row) { return row == 0; });
  EXPECT_EQ(summary.rows, 1U);
  EXPECT_EQ(summary.right_by_turn.size(), 1U);
  EXPECT_TRUE(summary.errors_by_turn.empty());
}

TEST(Summary, CountsRightTurnsCumulativelyOfAllSamples) {
  IndexWorld world;
  world.add_turns(world.add({.task = "a"}), {{}, {.standing = "right"}, {}});
  world.add_turns(world.add({.task = "b"}), {{.standing = "right"}});
  world.add_turns(world.add({.task = "c", .standing = "wrong"}), {{}, {}, {}});
  Summary summary = summarise(world.index);
  std::vector<std::size_t> right;
  for (const TurnPoint& point : summary.right_by_turn) {
    EXPECT_EQ(point.samples, 3U);
    right.push_back(point.right);
  }
  EXPECT_THAT(right, ElementsAre(1, 2, 2));
  EXPECT_NEAR(*summary.right_by_turn[2].share.value, 2.0 / 3, 1e-12);
}

TEST(Summary, AVerdictIsOneTurn) {
  IndexWorld world;
  std::size_t row = world.add({.standing = "wrong", .kind = "verdict"});
  world.index.rows.error_class.set(row, "wrong_value");
  Summary summary = summarise(world.index);
  EXPECT_EQ(summary.right_by_turn.size(), 1U);
  EXPECT_THAT(summary.errors_by_turn[1], ElementsAre(Pair("wrong_value", 1U)));
}

TEST(Summary, NamesAnErrorByItsClassElseByTheReason) {
  IndexWorld world;
  world.add_turns(world.add({}), {{.error_class = "timeout"}, {.counts_reason = "decoy"}, {}});
  Summary summary = summarise(world.index);
  EXPECT_THAT(summary.errors_by_turn[1], ElementsAre(Pair("timeout", 1U)));
  EXPECT_THAT(summary.errors_by_turn[2], ElementsAre(Pair("decoy", 1U)));
  EXPECT_THAT(summary.errors_by_turn[3], ElementsAre(Pair("failed", 1U)));
}

TEST(Summary, KeepsFaultsApartFromErrors) {
  IndexWorld world;
  world.add_turns(world.add({.standing = "unknown"}),
                  {{.standing = "unknown", .error_class = "infrastructure", .fault = "infrastructure"},
                   {.standing = "unknown", .error_class = "task_invalid", .fault = "task"}});
  std::size_t row = world.add({.standing = "unknown"});
  world.index.rows.stop_reason.set(row, "generation_failed");
  Summary summary = summarise(world.index);
  EXPECT_TRUE(summary.errors_by_turn.empty());
  EXPECT_TRUE(summary.right_by_turn.empty());
  EXPECT_THAT(summary.faults,
              ElementsAre(Pair("generation_failed", 1U), Pair("infrastructure: infrastructure", 1U),
                          Pair("task: task_invalid", 1U)));
}

TEST(Summary, ATurnWithoutAVerdictIsNotJudged) {
  IndexWorld world;
  std::size_t row = world.add({.standing = "unknown"});
  std::size_t at = world.index.turns.add();
  world.index.turns.row.set(at, static_cast<std::int64_t>(row));
  Summary summary = summarise(world.index);
  EXPECT_TRUE(summary.right_by_turn.empty());
  EXPECT_TRUE(summary.faults.empty());
}

TEST(Summary, TurnsOfNoRowAreIgnored) {
  IndexWorld world;
  world.add_turns(7, {{.standing = "right"}});
  world.index.turns.add();
  EXPECT_TRUE(summarise(world.index).right_by_turn.empty());
}

TEST(Summary, TheBestKernelIsTheFastestRightOne) {
  IndexWorld world;
  world.add({.task = "a"});
  world.add({.task = "a", .speedup = 1.5});
  world.add({.task = "a", .speedup = 1.5});
  world.add({.task = "a", .standing = "wrong", .speedup = 8});
  world.add({.task = "b", .standing = "wrong"});
  EXPECT_THAT(summarise(world.index).best_kernel_of_task, ElementsAre(Pair("a", 1U)));
}

TEST(Summary, CostsThatNoRowStatesAreNull) {
  IndexWorld world;
  std::size_t row = world.add({});
  world.index.rows.generation_ms.set(row, 0);  // an input without the field
  boost::json::object object = to_json(summarise(world.index));
  EXPECT_TRUE(object["generation_s"].is_null());
  EXPECT_TRUE(object["tokens"].as_object()["prompt"].is_null());
  world.index.rows.generation_ms.set(row, 1500);
  world.index.rows.prompt_tokens.set(row, 7);
  object = to_json(summarise(world.index));
  EXPECT_EQ(object["generation_s"], 1.5);
  EXPECT_EQ(object["tokens"].as_object()["prompt"], 7);
}

// The vector that docs/report_format.md's definition of the bootstrap gives: the page computes the same.
TEST(Summary, TheIntervalOfSeveralSamplesIsTheDocumentedBootstrap) {
  IndexWorld world;
  for (const char* task : {"c", "a", "b"})
    for (int sample = 0; sample < 2; ++sample)
      world.add(
          {.task = task, .standing = *task == 'a' || (*task == 'b' && sample == 0) ? "right" : "wrong"});
  const score::Estimate share = summarise(world.index).fast_p.points.front().share;
  EXPECT_EQ(share.method, "cluster bootstrap");
  EXPECT_DOUBLE_EQ(*share.value, 0.5);
  EXPECT_DOUBLE_EQ(share.interval->low, 0);
  EXPECT_DOUBLE_EQ(share.interval->high, 1);
}

// Rows of every kind: several samples a task, unknown speeds, compile times, a second round, faults,
// verdicts, rows without a task, and ids whose order differs between UTF-8 and UTF-16.
IndexWorld varied_world() {
  IndexWorld world;
  const char* tasks[] = {"kernelbench/1/19",
                         "kernelbench/1/2",
                         "\xf0\x9f\x98\x80",
                         "\xef\xbd\xa1",
                         "z",
                         "A",
                         "b c",
                         "e1",
                         "e2",
                         "e3",
                         "e4",
                         "e5"};
  int i = 0;
  for (const char* task : tasks)
    for (int sample = 0; sample <= i % 3; ++sample, ++i) {
      bool right = i % 4 != 0;
      std::optional<double> speed = right && i % 7 != 3 ? std::optional(0.4 + 0.37 * i) : std::nullopt;
      std::size_t row =
          world.add({.task = task,
                     .standing = right ? "right" : "wrong",
                     .speedup = speed,
                     .compile_speedup = speed && i % 2 == 0 ? std::optional(*speed / 1.7) : std::nullopt});
      world.index.rows.generation_ms.set(row, 10.5 * i);
      world.index.rows.completion_tokens.set(row, 7 * i);
      if (right)
        world.add_turns(row, {{.error_class = "timeout"}, {.standing = "right"}, {.counts_reason = "decoy"}});
      else
        world.add_turns(
            row, {{.error_class = "wrong_value"},
                  {.standing = "unknown", .error_class = "infrastructure", .fault = "infrastructure"}});
    }
  std::size_t verdict = world.add({.task = "e5", .standing = "wrong", .kind = "verdict"});
  world.index.rows.error_class.set(verdict, "compile_error");
  world.add({.task = "", .kind = "verdict"});
  world.index.rows.stop_reason.set(world.add({.task = "z", .standing = "unknown"}), "generation_failed");
  world.add({.task = "z", .kind = "dataset"});
  std::size_t open = world.add({.task = "A", .standing = "unknown", .speedup = 3});
  world.index.rows.unfinished.set(open, true);
  world.index.rows.completion_tokens.set(open, 11);
  world.add_turns(open, {{.error_class = "race"}, {.standing = "right"}});
  for (std::size_t at = 0; at < world.index.turns.count; at += 3) world.index.turns.evidence.set(at, true);
  std::size_t bare = world.add({.task = "e1", .standing = "wrong", .kind = "verdict"});
  world.index.rows.status.set(bare, "correct");
  return world;
}

// The page's own computation is held to the same file. KW_UPDATE_DOCS=1 writes it.
TEST(Summary, IsThatOfTheExampleForThePage) {
  IndexWorld world = varied_world();
  boost::json::object example = to_json(world.index);
  for (const char* other : {"words", "contents", "sources", "scores", "datasets"}) example.erase(other);
  example["summary"] = to_json(summarise(world.index));
  const std::string path = KW_SOURCE_DIR "/tests/report/summary/summary_example.json";
  std::string text = boost::json::serialize(example) + "\n";
  if (std::getenv("KW_UPDATE_DOCS")) ASSERT_TRUE(write_file(path, text));
  auto stored = read_file(path);
  ASSERT_TRUE(stored);
  EXPECT_EQ(*stored, text) << "run it with KW_UPDATE_DOCS=1";
}

TEST(Summary, TenThousandRowsAreQuick) {
  IndexWorld world;
  for (int i = 0; i < 10'000; ++i) {
    std::string task = "task " + std::to_string(i);
    std::size_t row = world.add({.task = task.c_str(), .standing = i % 3 == 0 ? "wrong" : "right"});
    world.add_turns(row, {{.error_class = "timeout"}, {.standing = i % 3 == 0 ? "wrong" : "right"}});
  }
  EXPECT_EQ(summarise(world.index).right_by_turn[1].right, 6666U);
}

}  // namespace
}  // namespace kw::report
