#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/json.h"
#include "train/job/events.h"
#include "world.h"

namespace kw::training {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

template <typename T>
T event(std::string_view line) {
  auto told = parse_event(line);
  EXPECT_TRUE(told) << fault(told);
  return told ? std::get<T>(told->event) : T{};
}

TEST(Events, AStepHasItsNumbers) {
  auto step =
      event<Step>(R"({"event":"step","step":3,"of":10,"loss":1.5,"learning_rate":1e-4,"gradient_norm":0.5,)"
                  R"("tokens_per_s":1988.5,"memory_bytes":null,"remaining_s":7,"epoch":0.3})");
  EXPECT_EQ(step.step, 3U);
  EXPECT_EQ(step.of, 10U);
  EXPECT_EQ(step.loss, 1.5);
  EXPECT_EQ(step.memory_bytes, std::nullopt);
  EXPECT_EQ(step.remaining_s, 7.0);
}

TEST(Events, DataNamesWhatWasDroppedAndCut) {
  auto data = event<DataFacts>(
      R"({"event":"data","rows":10,"used":8,"dropped":{"too long":2},"cut":{"too long":3},"tokens":100,)"
      R"("learnt_tokens":40,"sequences":4,"steps":1,"share_filled":0.98})");
  EXPECT_THAT(data.dropped, ElementsAre(Pair("too long", 2U)));
  EXPECT_THAT(data.cut, ElementsAre(Pair("too long", 3U)));
  EXPECT_EQ(data.learnt_tokens, 40U);
}

TEST(Events, AnEstimateSaysWhetherItFits) {
  auto estimate = event<Estimate>(
      R"({"event":"estimate","parts":{"weights_bytes":5},"total_bytes":7,"limit_bytes":6,"fits":false})");
  EXPECT_EQ(estimate.total_bytes, 7U);
  EXPECT_EQ(estimate.limit_bytes, 6U);
  EXPECT_EQ(estimate.fits, false);
}

TEST(Events, AnErrorHasItsRemedy) {
  EXPECT_TRUE(event<Problem>(R"({"event":"error","what":"no steps","remedy":"","usage":true})").usage);
  auto problem = event<Problem>(R"({"event":"error","what":"no GPU","remedy":"--device cpu"})");
  EXPECT_FALSE(problem.usage);
  EXPECT_EQ(problem.error.what, "no GPU");
  EXPECT_EQ(problem.error.remedy, "--device cpu");
}

TEST(Events, AnEventOfLaterIsPassedOver) {
  event<Unknown>(R"({"event":"weather","sunny":true})");
}

TEST(Events, HeldOutLossesAndWarningsAreRead) {
  auto facts = event<ValidationFacts>(
      R"({"event":"validation_data","rows":6,"used":4,"dropped":{"in the training rows too":2}})");
  EXPECT_EQ(facts.used, 4U);
  EXPECT_EQ(facts.dropped.at(0).second, 2U);
  auto measured = event<HeldOutLoss>(R"({"event":"validation","step":50,"loss":1.5,"best_step":50})");
  EXPECT_EQ(measured.loss, 1.5);
  EXPECT_EQ(measured.best_step, 50U);
  EXPECT_FALSE(
      event<HeldOutLoss>(R"({"event":"validation","step":0,"loss":null,"best_step":null})").best_step);
  EXPECT_EQ(event<Warning>(R"({"event":"warning","what":"long","remedy":"--set"})").text.remedy, "--set");
  auto done =
      event<Done>(R"({"event":"done","steps":9,"best_step":7,"validation_loss":0.5,"ended_early":true})");
  EXPECT_EQ(done.best_step, 7U);
  EXPECT_TRUE(done.ended_early);
}

TEST(Events, RubbishIsNoEvent) {
  for (const char* line : {"", "rubbish", "[]", "{}", "{\"event\":3}", "{\"event\":\"step\"}",
                           "{\"event\":\"error\"}", "{\"event\":\"step\",\"step\":-1,\"of\":2}",
                           "{\"event\":\"step\",\"step\":1e300,\"of\":2}", "\xff\xfe"})
    EXPECT_FALSE(parse_event(line)) << line;
}

TEST(Events, WordsCannotDriveATerminal) {
  auto notice = event<Notice>("{\"event\":\"notice\",\"what\":\"a\\u001b[2Jb\"}");
  EXPECT_EQ(notice.what, "a\xEF\xBF\xBD[2Jb");
}

TEST(EventLines, LinesAreWholeHoweverTheyCome) {
  EventLines lines;
  std::vector<std::string> seen;
  auto keep = [&](std::string_view line) { seen.emplace_back(line); };
  for (std::string_view part : {"a", "b\nc", "\n\nd"}) lines.feed(part, keep);
  EXPECT_THAT(seen, ElementsAre("ab", "c"));
  EXPECT_EQ(lines.take_rest(), "d");
}

TEST(EventLines, ALineWithoutEndTakesNoMemory) {
  EventLines lines;
  std::vector<std::string> seen;
  auto keep = [&](std::string_view line) { seen.emplace_back(line); };
  std::string part(1 << 16, 'x');
  for (int i = 0; i < 100; ++i) lines.feed(part, keep);
  lines.feed("\nshort\n", keep);
  EXPECT_THAT(seen, ElementsAre("short"));
  EXPECT_EQ(lines.dropped(), 1U);
}

TEST(EventLog, EveryLineHasItsTimeAndALaterRunAppends) {
  Folder folder;
  for (int run = 0; run < 2; ++run) {
    auto log = EventLog::open(folder / "log.jsonl");
    ASSERT_TRUE(log);
    ASSERT_TRUE(log->add({{"event", "notice"}, {"what", run}}));
  }
  std::string text = read(folder / "log.jsonl");
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  auto first = parse_json(text.substr(0, text.find('\n')));
  ASSERT_TRUE(first);
  EXPECT_THAT(std::string(first->at("time").as_string()), testing::MatchesRegex("2.*T.*Z"));
}

TEST(EventLog, ALineThatWasCutOffIsEndedFirst) {
  Folder folder;
  write(folder / "log.jsonl", "{\"event\":\"st");
  auto log = EventLog::open(folder / "log.jsonl");
  ASSERT_TRUE(log && log->add({{"event", "notice"}}));
  EXPECT_THAT(read(folder / "log.jsonl"), HasSubstr("{\"event\":\"st\n{\"event\":\"notice\""));
}

TEST(EventLog, AFullDiskIsSaidOnce) {
  auto log = EventLog::open("/dev/full");
  ASSERT_TRUE(log) << fault(log);
  EXPECT_THAT(fault(log->add({{"event", "notice"}})), HasSubstr("No space left"));
  EXPECT_EQ(fault(log->add({{"event", "notice"}})), "");
}

}  // namespace
}  // namespace kw::training
