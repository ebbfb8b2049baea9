#include "output/results.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "output/progress.h"

namespace kw {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ResultRow row(const std::string& id, Status status) {
  ResultRow row;
  row.id = id;
  row.status = status;
  if (status == Status::correct) row.counts = true;
  if (status == Status::incorrect) row.why = "wrong_value";
  return row;
}

TEST(Table, NumbersAreAlignedAndNothingTrails) {
  ResultRow fast = row("a", Status::correct);
  fast.speedup = 12.345;
  fast.seconds = 1;
  EXPECT_EQ(results_table({fast, row("longer", Status::incorrect)}, {}),
            "id      status     error class  counts  speed-up   time\n"
            "longer  incorrect  wrong_value  -              -  0.0 s\n"
            "a       correct    -            yes       12.35x  1.0 s\n");
}
TEST(Table, SegmentsStandBelowTheirRow) {
  Verdict verdict;
  verdict.id = "a";
  verdict.status = Status::correct;
  verdict.counts = true;
  verdict.trust = Trust::replay;
  verdict.speedup = 2;
  verdict.timing.segments = Segments{{0.1, 0.04, 2.5}, {0.3, 0.0, {}}};
  const ResultRow fast = result_row(verdict, {}, Trust::replay);
  EXPECT_THAT(results_table({fast, row("b", Status::correct)}, {}),
              HasSubstr("0.0 s\n  forward 2.50x (0.1 to 0.04 ms), backward 0.3 to 0 ms\nb "));
}
TEST(Table, FurtherChecksOfARightResultStandBelowItsRow) {
  Verdict verdict;
  verdict.id = "a";
  verdict.status = Status::correct;
  verdict.counts = true;
  verdict.generality = Generality{.shapes = ShapeGenerality::any};
  verdict.sanitized = {
      {.check = Sanitizer::bounds, .outcome = SanitizerOutcome::not_run, .why_not = "needs a GPU"}};
  const ResultRow right = result_row(verdict, {}, Trust::replay);
  EXPECT_THAT(results_table({right}, {}),
              HasSubstr("s\n  right at other shapes too; sanitized: bounds not run (needs a GPU)\n"));
}
TEST(Table, AnotherShapeAtWhichARightResultIsWrongStandsBelowItsRow) {
  Verdict verdict;
  verdict.status = Status::correct;
  verdict.counts = true;
  verdict.generality = Generality{.shapes = ShapeGenerality::given_only,
                                  .shape_trials = {{.family = "prime",
                                                    .outcome = FamilyOutcome::failed,
                                                    .inputs = "sizes {\"rows\": 61}",
                                                    .mismatched_share = 0.5}}};
  EXPECT_EQ(result_row(verdict, {}, Trust::replay).further_checks,
            "wrong at another shape: sizes {\"rows\": 61} (50% of the values differ)");
  verdict.counts = false;
  EXPECT_EQ(result_row(verdict, {}, Trust::replay).further_checks, "") << "its explanation has them";
}
TEST(Table, SegmentsOfASpeedupThatIsNotShownAreNotShown) {
  Verdict verdict;
  verdict.trust = Trust::in_process;
  verdict.speedup = 2;
  verdict.timing.segments = Segments{{0.1, 0.04, 2.5}, {0.3, 0.1, 3}};
  EXPECT_EQ(result_row(verdict, {}, Trust::replay).segments, "");
}
TEST(Table, FailuresComeFirstElseTheOrderStays) {
  ResultRow decoy = row("decoy", Status::correct);
  decoy.counts = false;
  decoy.why = "decoy";
  std::string text = results_table(
      {row("b", Status::correct), row("skip", Status::skipped), decoy, row("wrong", Status::incorrect),
       row("a", Status::correct), row("task", Status::error), row("broke", Status::failed)},
      {});
  std::vector<std::string> ids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) ids.push_back(line.substr(0, line.find(' ')));
  EXPECT_THAT(ids, testing::ElementsAre("id", "wrong", "broke", "decoy", "task", "skip", "b", "a"));
}
TEST(Table, AColumnThatIsEmptyInAllRowsIsLeftOut) {
  EXPECT_EQ(results_table({row("a", Status::correct)}, {}),
            "id  status   counts   time\n"
            "a   correct  yes     0.0 s\n");
}
TEST(Table, CellsWrapBetweenWordsWhereRowsAreWiderThanTheTerminal) {
  ResultRow decoy = row("some_candidate", Status::correct);
  decoy.counts = false;
  decoy.why = "nondeterministic";
  decoy.reduced = true;
  EXPECT_EQ(results_table({decoy}, {.colours = false, .width = 52}),
            "id              status     counts             time\n"
            "some_candidate  correct    no:               0.0 s\n"
            "                (reduced)  nondeterministic\n");
}
TEST(Table, ANarrowTerminalBreaksLongWords) {
  ResultRow wrong = row(std::string(40, 'x'), Status::incorrect);
  wrong.why = "live_replay_mismatch";
  std::istringstream lines(results_table({wrong}, {.colours = false, .width = 40}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 40U) << line;
}
TEST(Table, NoEscapesWithoutColours) {
  EXPECT_THAT(results_table({row("a", Status::failed)}, {}), Not(HasSubstr("\x1b")));
}
TEST(Table, ColoursWhereWanted) {
  EXPECT_THAT(results_table({row("a", Status::failed)}, {.colours = true}), HasSubstr("\x1b[31mfailed"));
}
TEST(Table, LongIdsAreCut) {
  EXPECT_THAT(results_table({row(std::string(100, 'x'), Status::correct)}, {}), HasSubstr("x…  correct"));
}
TEST(Table, AnIdCannotDriveTheTerminal) {
  EXPECT_THAT(results_table({row("\x1b[2J\u202e", Status::correct)}, {}),
              HasSubstr("\ufffd[2J<U+202E>  correct"));
}
TEST(Table, WideCharactersKeepColumnsAligned) {
  EXPECT_THAT(results_table({row("日本", Status::correct), row("abcd", Status::correct)}, {}),
              AllOf(HasSubstr("日本  correct"), HasSubstr("abcd  correct")));
}

TEST(Explanations, OnlyOfWhatIsNotPlainlyRight) {
  Verdict right;
  right.status = Status::correct;
  right.counts = true;
  Explanations explanations({.style = {}});
  explanations.add(0, right, {});
  EXPECT_EQ(explanations.text(), "");
  Verdict slow = right;
  slow.id = "a";
  slow.counts = false;
  slow.counts_reason = CountsReason::decoy;
  explanations.add(1, slow, {});
  EXPECT_THAT(explanations.text(), StartsWith("\na: correct, does not count (decoy)\n"));
}
TEST(Explanations, OfManyTheFirstAreExplainedAndTheOthersCounted) {
  Explanations explanations({.style = {}});
  for (std::size_t i = 0; i < Explanations::most + 3; ++i) explanations.add(i, {}, {});
  EXPECT_THAT(explanations.text(), HasSubstr("\n3 more verdicts are not explained here"));
}

Verdict judged(const std::string& id, Status status) {
  Verdict v;
  v.id = id;
  v.status = status;
  if (status == Status::correct) v.counts = true;
  return v;
}

std::string shown(const ResultView::Options& options, const std::vector<Verdict>& verdicts) {
  ResultView view(options);
  for (const Verdict& v : verdicts) view.add(result_row(v, {}, Trust::replay), v, {});
  return view.text();
}

TEST(Table, RowsOfOneLevelStandInTheOrderOfTheInput) {
  ResultRow second = row("second", Status::incorrect);
  second.position = 1;
  ResultRow right = row("right", Status::correct);
  const std::string text = results_table({right, second, row("first", Status::incorrect)}, {});
  EXPECT_LT(text.find("first"), text.find("second"));
  EXPECT_LT(text.find("second"), text.find("right"));
}

TEST(Explanations, AreThoseOfTheFirstOfTheInput) {
  Explanations explanations({.style = {}});
  for (std::size_t i = Explanations::most + 1; i-- > 0;)
    explanations.add(i, judged(fmt::format("v{}", i), Status::failed), {});
  EXPECT_THAT(explanations.text(), StartsWith("\nv0: failed"));
  EXPECT_THAT(explanations.text(), Not(HasSubstr(fmt::format("v{}:", Explanations::most))));
}
TEST(Explanations, FailuresComeFirst) {
  std::string text = shown({.style = {}}, {judged("s", Status::skipped), judged("f", Status::failed)});
  EXPECT_LT(text.find("\nf: failed"), text.find("\ns: skipped"));
}
TEST(Explanations, TheOutputIsShownWhereAskedEvenOfARightOne) {
  Verdict right = judged("a", Status::correct);
  right.printed = "hello";
  EXPECT_THAT(shown({.style = {}}, {right}), Not(HasSubstr("hello")));
  EXPECT_THAT(shown({.style = {}, .show_output = true}, {right}),
              HasSubstr("a: correct\n  It printed:\n    hello\n"));
}
TEST(View, ShowsTheSelectedVerdictsOnly) {
  std::vector<Verdict> verdicts{judged("right", Status::correct), judged("broke", Status::failed)};
  std::string text = shown({.style = {}, .only = {{"failed"}}}, verdicts);
  EXPECT_THAT(text, AllOf(HasSubstr("broke"), Not(HasSubstr("right"))));
  EXPECT_EQ(shown({.style = {}, .only = {{"skipped"}}}, verdicts), "--only skipped: none of 2 verdicts\n");
}

TEST(ResultRow, ASpeedThatIsTrustedTooLittleIsLeftOut) {
  Verdict v;
  v.speedup = 2;
  v.trust = Trust::in_process;
  EXPECT_TRUE(result_row(v, {}, Trust::in_process).speedup);
  EXPECT_FALSE(result_row(v, {}, Trust::replay).speedup);
}

TEST(Summary, CountsEachStatus) {
  ResultRow decoy = row("d", Status::correct);
  decoy.counts = false;
  Summary sum =
      summarise({row("a", Status::correct), decoy, row("b", Status::incorrect), row("c", Status::skipped)});
  EXPECT_EQ(sum.correct, 2U);
  EXPECT_EQ(sum.counting, 1U);
  EXPECT_EQ(sum.incorrect, 1U);
  EXPECT_EQ(sum.skipped, 1U);
}
TEST(Summary, Fast1OnlyWhereMeasured) {
  EXPECT_THAT(in_words(summarise({row("a", Status::correct)})), Not(HasSubstr("fast_1")));
  ResultRow fast = row("a", Status::correct);
  fast.speedup = 1.5;
  EXPECT_THAT(in_words(summarise({fast, row("b", Status::failed)})), HasSubstr("50.0%"));
}
TEST(Summary, EachDifferenceFromTheRecordIsNamed) {
  ResultRow agrees = row("a", Status::correct);
  ResultRow differs = row("b", Status::incorrect);
  ResultRow skipped = row("c", Status::skipped);
  agrees.recorded = differs.recorded = skipped.recorded = true;
  std::string words = in_words(summarise({agrees, differs, skipped}));
  EXPECT_THAT(words, HasSubstr("1 of 2 agree"));
  EXPECT_THAT(words, HasSubstr("b: recorded correct, here incorrect (wrong_value)"));
  EXPECT_THAT(words, HasSubstr("not judged on this machine:\n  c:"));
}

TEST(Progress, ABarWithRateAndRemainingTime) {
  EXPECT_EQ(progress_bar(5, 10, 0, 60), "[############------------]  5/10  5.0/min  1:00 left");
}
TEST(Progress, WhatWasDoneBeforeIsNoPartOfTheRate) {
  EXPECT_THAT(progress_bar(6, 10, 5, 60), HasSubstr("1.0/min  4:00 left"));
}
TEST(Progress, WithoutATotal) {
  EXPECT_EQ(progress_bar(30, {}, 0, 60), "30 done  30/min");
}
TEST(Progress, AtTheVeryBeginning) {
  EXPECT_EQ(progress_bar(0, 2, 0, 0), "[------------------------] 0/2");
}

// The output of a Progress.
std::string shown(bool terminal) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  Progress progress({.out = out, .terminal = terminal, .quiet = false}, 2);
  progress.done("a", "correct", 1);
  progress.say("note");
  progress.finish();
  std::fclose(out);
  std::string all(text, size);
  std::free(text);
  return all;
}
TEST(Progress, PlainLinesWithoutATerminal) {
  EXPECT_EQ(shown(false), "1/2 a: correct\nnote\n");
}
// The output of a Progress that waits, with a tick after some milliseconds.
std::string shown_wait(bool terminal, bool quiet, int ms) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  Progress progress({.out = out, .terminal = terminal, .quiet = quiet}, 2);
  progress.wait_for("starting Python");
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  progress.tick(1);
  progress.tick(1);
  progress.wait_for("");
  std::fclose(out);
  std::string all(text, size);
  std::free(text);
  return all;
}
TEST(Progress, AShortWaitIsNotShown) {
  EXPECT_EQ(shown_wait(false, false, 0), "");
  EXPECT_EQ(shown_wait(true, false, 0), "");
}
TEST(Progress, ALongWaitIsNamedOnceOrWithItsSeconds) {
  EXPECT_EQ(shown_wait(false, false, 1000), "starting Python\n");
  EXPECT_EQ(shown_wait(true, false, 1000),
            "\r\x1b[Kstarting Python: 1 s\r\x1b[Kstarting Python: 1 s\r\x1b[K");
  EXPECT_EQ(shown_wait(true, true, 1000), "");
}
TEST(Progress, ABarThatIsClearedForAMessage) {
  EXPECT_THAT(shown(true), HasSubstr("\r\x1b[Knote\n"));
}

}  // namespace
}  // namespace kw
