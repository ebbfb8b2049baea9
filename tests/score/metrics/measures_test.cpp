// pass@k and fast_p.
#include <gmock/gmock.h>

#include <cmath>

#include "score/metrics/measures.h"
#include "score_world.h"

namespace kw::score {
namespace {

using testing::ElementsAre;

TEST(PassAtK, IsTheQuotientOfBinomials) {
  EXPECT_NEAR(*pass_at_k(10, 3, 5), 1 - 21.0 / 252, 1e-12);  // C(7,5), C(10,5)
  EXPECT_NEAR(*pass_at_k(200, 1, 100), 0.5, 1e-12);
}

TEST(PassAtK, OfOneIsTheShareOfRightSamples) {
  for (std::size_t n = 1; n <= 30; ++n)
    for (std::size_t c = 0; c <= n; ++c)
      EXPECT_NEAR(*pass_at_k(n, c, 1), static_cast<double>(c) / static_cast<double>(n), 1e-12);
}

TEST(PassAtK, NeverFallsWithMoreTries) {
  for (std::size_t k = 1; k < 50; ++k) EXPECT_LE(*pass_at_k(50, 7, k), *pass_at_k(50, 7, k + 1) + 1e-15);
}

TEST(PassAtK, IsCertainWhereTooFewAreWrong) {
  EXPECT_EQ(*pass_at_k(5, 3, 3), 1);
  EXPECT_EQ(*pass_at_k(4, 4, 1), 1);
}

TEST(PassAtK, OfManySamplesDoesNotOverflow) {
  EXPECT_NEAR(*pass_at_k(1'000'000, 1'000, 1'000), 1 - std::exp(1'000 * std::log1p(-1e-3)), 1e-3);
}

TEST(PassAtK, IsUndefinedWithFewerSamplesThanTries) {
  EXPECT_FALSE(pass_at_k(4, 2, 5));
  EXPECT_FALSE(pass_at_k(4, 2, 0));
  EXPECT_FALSE(pass_at_k(4, 5, 1));
  EXPECT_FALSE(pass_at_k(0, 0, 1));
}

TEST(PassAtK, NamesTheTasksForWhichItIsUndefined) {
  PassAtK result = pass_at_k({task("a", 2, 1), task("b", 1, 1), task("c", 3, 0)}, 2);
  EXPECT_THAT(result.too_few, ElementsAre("b"));
  EXPECT_EQ(result.estimate.tasks, 2U);
  EXPECT_NEAR(*result.estimate.value, 0.5, 1e-12);
}

TEST(PassAtK, HasNoValueWhereNoTaskHasEnoughSamples) {
  PassAtK result = pass_at_k({task("a", 1, 1)}, 5);
  EXPECT_FALSE(result.estimate.value);
  EXPECT_EQ(result.estimate.why, "no task has that many samples");
}

TEST(UsualK, IsEveryKThatHalfOfTheTasksHaveSamplesFor) {
  EXPECT_THAT(usual_k({task("a", 5, 1), task("b", 3, 0), task("c", 2, 2), task("d", 1, 0)}),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(usual_k({task("a", 9, 1), task("b", 2, 0), task("c", 1, 0)}), ElementsAre(1, 2));
  EXPECT_THAT(usual_k({task("a", 4, 1), task("b", 1, 0)}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(usual_k({task("a", 1, 1)}), ElementsAre(1));
}

TEST(UsualK, LeavesOutTasksThatWereNotJudged) {
  EXPECT_THAT(usual_k({task("a", 2, 1), task("b", 0, 0), task("c", 0, 0)}), ElementsAre(1, 2));
  EXPECT_THAT(usual_k({task("b", 0, 0)}), ElementsAre(1));
  EXPECT_THAT(usual_k({}), ElementsAre(1));
}

TEST(UsualK, DoublesBeyondThirtyTwo) {
  auto all = usual_k({task("a", 200, 1)});
  ASSERT_EQ(all.size(), 35U);
  EXPECT_EQ(all[31], 32U);
  EXPECT_THAT(std::vector(all.begin() + 32, all.end()), ElementsAre(64, 128, 200));
  EXPECT_EQ(usual_k({task("a", 64, 1)}).back(), 64U);
  EXPECT_EQ(usual_k({task("a", 64, 1)}).size(), 33U);
}

TEST(PassAtK, OfAllRightHasAnIntervalThatIsNotAPoint) {
  EXPECT_LT(pass_at_k(tasks("1111111111"), 1).estimate.interval->low, 0.8);
}

TEST(Outcome, OfARightAnswerThatProvesNothingIsWrong) {
  Verdict verdict;
  verdict.status = Status::correct;
  verdict.counts = false;
  EXPECT_EQ(outcome_of(verdict).standing, Standing::wrong);
  verdict.counts = true;
  EXPECT_EQ(outcome_of(verdict).standing, Standing::right);
}

TEST(Outcome, OfAFaultOfOursIsUnknown) {
  Verdict verdict;
  verdict.status = Status::error;
  EXPECT_EQ(outcome_of(verdict).standing, Standing::unknown);
  verdict.status = Status::skipped;
  EXPECT_EQ(outcome_of(verdict).standing, Standing::unknown);
}

TEST(Outcome, TakesNoSpeedFromAnInstrumentThatIsNotTrusted) {
  Verdict verdict;
  verdict.status = Status::correct;
  verdict.counts = true;
  verdict.trust = Trust::in_process;
  verdict.speedup = 2.0;
  EXPECT_EQ(outcome_of(verdict, Trust::in_process).speedup, 2.0);
  EXPECT_FALSE(outcome_of(verdict, Trust::replay).speedup);
}

TEST(ByTask, CountsSamplesThatNobodyCouldJudgeApart) {
  auto grouped =
      by_task({{"a", Standing::right, 2.0}, {"a", Standing::unknown, {}}, {"a", Standing::wrong, 9.0}});
  ASSERT_EQ(grouped.size(), 1U);
  EXPECT_EQ(grouped[0].samples, 2U);
  EXPECT_EQ(grouped[0].unknown, 1U);
  EXPECT_THAT(grouped[0].speedups, ElementsAre(2.0));
}

TEST(ByTask, TakesASpeedThatCannotBeForUnknown) {
  auto grouped = by_task({{"a", Standing::right, 0.0}, {"a", Standing::right, std::nan("")}});
  EXPECT_EQ(grouped[0].unknown_speeds, 2U);
}

const std::vector<TaskSamples> four = {task("a", 1, 1, {2.0}), task("b", 1, 1, {1.0}), task("c", 1, 1, {0.5}),
                                       task("d", 1, 0)};

TEST(FastP, IsTheShareOfTasksThatAreRightAndFaster) {
  FastCurve curve = fast_p(four, {0, 0.5, 1, 1.5});
  EXPECT_EQ(curve.points[0].share.value, 0.75);
  EXPECT_EQ(curve.points[1].share.value, 0.5);
  EXPECT_EQ(curve.points[3].share.value, 0.25);
}

TEST(FastP, DoesNotTakeEquallyFastForFaster) {
  EXPECT_EQ(fast_p(four, {1}).points[0].share.value, 0.25);
  EXPECT_EQ(fast_p(four, {2}).points[0].share.value, 0);
}

TEST(FastP, NeverRisesWithP) {
  FastCurve curve = fast_p(four);
  for (std::size_t i = 1; i < curve.points.size(); ++i)
    EXPECT_LE(curve.points[i].at_least.value, curve.points[i - 1].at_least.value);
}

TEST(FastP, KeepsUnknownSpeedsApart) {
  auto with_unknown = four;
  with_unknown.push_back(task("e", 1, 1));
  FastPoint point = fast_p(with_unknown, {1}).points[0];
  EXPECT_FALSE(point.share.value);
  EXPECT_EQ(point.at_least.value, 0.2);
  EXPECT_EQ(point.at_most.value, 0.4);
  EXPECT_EQ(point.unknown_speeds, 1U);
}

TEST(FastP, OfZeroNeedsNoSpeed) {
  EXPECT_EQ(fast_p(tasks("1100"), {0}).points[0].share.value, 0.5);
}

TEST(FastP, LeavesTasksThatNobodyCouldJudgeOut) {
  TaskSamples unjudged;
  unjudged.task_id = "x";
  unjudged.unknown = 3;
  FastCurve curve = fast_p({four[0], unjudged}, {0});
  EXPECT_EQ(curve.points[0].share.value, 1);
  EXPECT_EQ(curve.tasks_not_judged, 1U);
  EXPECT_EQ(curve.samples_not_judged, 3U);
}

TEST(FastP, OfSeveralSamplesTakesEachTaskOnce) {
  FastCurve curve = fast_p({task("a", 4, 4, {2, 2, 2, 2}), task("b", 2, 1, {2})}, {1});
  EXPECT_EQ(curve.points[0].share.value, 0.75);
}

TEST(FastP, OfNoTasksHasNoValue) {
  EXPECT_FALSE(fast_p({}, {1}).points[0].share.value);
}

TEST(FastP, LeavesOutWhatIsNoP) {
  EXPECT_TRUE(fast_p(four, {-1, std::nan("")}).points.empty());
}

TEST(GeometricMeanSpeedup, IsThatOfTasksWithKnownSpeeds) {
  Estimate mean = geometric_mean_speedup({task("a", 2, 2, {1, 4}), task("b", 1, 1, {8}), task("c", 1, 1)});
  EXPECT_NEAR(*mean.value, 4, 1e-12);
  EXPECT_EQ(mean.tasks, 2U);
}

}  // namespace
}  // namespace kw::score
