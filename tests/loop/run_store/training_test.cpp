#include <gtest/gtest.h>

#include <boost/json/array.hpp>

#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/run_store/training_files.h"
#include "loop/run_store/training_rows.h"
#include "store_world.h"
#include "types/job.h"

namespace kw::store {
namespace {

namespace json = boost::json;

std::vector<json::object> rows(const Trace& t, const TrainingOptions& options, Tally* tally = nullptr) {
  Tally counted;
  std::vector<json::object> made;
  for (const TrainingRow& row : training_rows(t, options, tally ? *tally : counted))
    made.push_back(parse_json(row.text)->as_object());
  return made;
}

std::vector<std::string> roles(const json::value& messages) {
  std::vector<std::string> names;
  for (const json::value& each : messages.as_array()) names.emplace_back(each.at("role").as_string());
  return names;
}

std::string last_content(const json::value& messages) {
  return std::string(messages.as_array().back().at("content").as_string());
}

using Roles = std::vector<std::string>;

TEST(TrainingRows, ATurnHasWhatTheModelSawBeforeIt) {
  auto made = rows(three_turns(), {});
  ASSERT_EQ(made.size(), 2U);  // the first turn is wrong
  EXPECT_EQ(roles(made[0].at("messages")), (Roles{"system", "user", "assistant", "user", "assistant"}));
  EXPECT_EQ(last_content(made[0].at("messages")), three_turns().rounds[0].turns[1].completion);
  EXPECT_EQ(made[0].at("turn"), 2);
}

TEST(TrainingRows, PromptAndCompletionMeetAtTheAnswer) {
  auto made = rows(three_turns(), {.format = Format::prompt_completion, .best_only = true});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(roles(made[0].at("prompt")).size(), 6U);
  EXPECT_EQ(roles(made[0].at("completion")), Roles{"assistant"});
  EXPECT_EQ(made[0].at("speedup"), 2.5);
}

TrainingOptions reviewed(const Trace& t, std::size_t turn, ReviewLabel label) {
  ReviewLog log;
  log.entries.push_back(
      {{"key", t.task.task_id, candidate_sha256(t.rounds[0].turns[turn].code), ""}, "Ada", label, "", ""});
  TrainingOptions options;
  options.reviews = ReviewLabels(log);
  return options;
}

TEST(TrainingRows, HaveTheLabelOfAReview) {
  Trace t = three_turns();
  for (Turn& turn : t.rounds[0].turns) turn.code = "code " + std::to_string(turn.turn);
  auto made = rows(t, reviewed(t, 1, ReviewLabel::good));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].at("review"), "good");
  EXPECT_TRUE(made[1].at("review").is_null());
  EXPECT_FALSE(rows(t, {})[0].contains("review"));
}

TEST(TrainingRows, LeaveOutWhatAReviewFoundSuspicious) {
  Trace t = three_turns();
  for (Turn& turn : t.rounds[0].turns) turn.code = "code " + std::to_string(turn.turn);
  TrainingOptions options = reviewed(t, 1, ReviewLabel::suspicious);
  options.leave_out = {ReviewLabel::suspicious, ReviewLabel::unsure};
  Tally tally;
  auto made = rows(t, options, &tally);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].at("turn"), 3);
  EXPECT_EQ(tally.left_out["labelled suspicious"], 1U);
}

TEST(TrainingRows, UnmeasuredSpeedsAreNullOrZero) {
  TrainingOptions options{.filter = Filter::none};
  EXPECT_TRUE(rows(three_turns(), options)[0].at("speedup").is_null());
  options.unmeasured_is_zero = true;
  auto made = rows(three_turns(), options);
  EXPECT_EQ(made[0].at("speedup"), 0.0);
  EXPECT_EQ(made[2].at("speedup"), 2.5);
}

TEST(TrainingRows, ResultsOfTracesHaveNumbersEverywhereOnRequest) {
  Trace t = three_turns();
  t.rounds[0].turns[1].verdict->speedup.reset();
  for (Form form : {Form::single, Form::multi}) {
    TrainingOptions options{.format = Format::traces, .filter = Filter::none, .form = form};
    options.unmeasured_is_zero = true;
    json::object row = rows(t, options).at(0);
    const json::value& best = row.at(form == Form::multi ? "final_result" : "result");
    EXPECT_EQ(best.at("speedup"), 2.5);
    EXPECT_EQ(best.at("fast_1"), true);
    if (form == Form::single) continue;
    const json::object& second = row.at("turns").as_array()[1].at("result").as_object();
    for (const char* key : {"speedup", "reference_time_ms", "kernel_time_ms"})
      EXPECT_EQ(second.at(key), 0.0) << key;
    EXPECT_EQ(second.at("fast_1"), false);
    EXPECT_EQ(second.at("correctness"), true);
    EXPECT_TRUE(second.at("error").is_null());
  }
}

TEST(TrainingRows, AConversationEndsWithItsBestTurn) {
  Trace t = three_turns();
  std::swap(t.rounds[0].turns[1].verdict, t.rounds[0].turns[2].verdict);
  auto made = rows(t, {.unit = Unit::conversation});
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(roles(made[0].at("messages")).size(), 5U);
  auto whole = rows(t, {.unit = Unit::conversation, .filter = Filter::none});
  EXPECT_EQ(roles(whole[0].at("messages")).size(), 7U);
}

TEST(TrainingRows, PairsPreferTheBestTurnToEachThatIsWorse) {
  auto made = rows(three_turns(), {.format = Format::preference});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(roles(made[0].at("prompt")), (Roles{"system", "user"}));
  EXPECT_NE(last_content(made[0].at("chosen")).find("\nc\n"), std::string::npos);
  EXPECT_NE(last_content(made[0].at("rejected")).find("\na\n"), std::string::npos);
  EXPECT_EQ(made[1].at("rejected_speedup"), 0.8);
}

TEST(TrainingRows, ALittleFasterIsNotBetter) {
  Turn one = turn(1, "a", judged(Status::correct, 1.09));
  Turn other = turn(2, "b", judged(Status::correct, 1.0));
  EXPECT_FALSE(is_better(one, other));
  one.verdict->speedup = 1.11;
  EXPECT_TRUE(is_better(one, other));
  other.verdict->speedup.reset();
  EXPECT_FALSE(is_better(one, other));
  other.verdict = judged(Status::skipped);
  EXPECT_FALSE(is_better(one, other));
}

TEST(TrainingRows, ReasoningGoesWhereItIsAskedFor) {
  auto answer = [](ReasoningKey key) {
    auto made = rows(three_turns(), {.reasoning = key, .best_only = true});
    return made[0].at("messages").as_array().back().as_object();
  };
  EXPECT_EQ(answer(ReasoningKey::reasoning_content).at("reasoning_content"), "thought 3");
  EXPECT_EQ(answer(ReasoningKey::thinking).at("thinking"), "thought 3");
  EXPECT_EQ(answer(ReasoningKey::none).size(), 2U);
  std::string content(answer(ReasoningKey::inline_).at("content").as_string());
  EXPECT_TRUE(content.starts_with("<think>\nthought 3\n</think>\n\nFirst this."));
}

TEST(TrainingRows, EarlierAnswersStandAsTheModelSawThem) {
  auto made = rows(three_turns(), {.reasoning = ReasoningKey::inline_, .best_only = true});
  std::string seen(made[0].at("messages").at(2).at("content").as_string());
  EXPECT_EQ(seen, three_turns().rounds[0].turns[0].completion);
}

TEST(TrainingRows, FiltersAskForWhatCounts) {
  Trace t = three_turns();
  EXPECT_EQ(rows(t, {.filter = Filter::none}).size(), 3U);
  EXPECT_EQ(rows(t, {.filter = Filter::fast_1}).size(), 1U);
  t.rounds[0].turns[2].verdict->counts = false;
  Tally tally;
  EXPECT_TRUE(rows(t, {.filter = Filter::fast_2}, &tally).empty());
  EXPECT_EQ(left_out_in_words(tally), "1 not fast_2, 1 right without counting, 1 wrong");
}

TEST(TrainingRows, TrustIsAsked) {
  Trace t = three_turns();
  t.rounds[0].turns[1].verdict->trust = Trust::interpreter;
  EXPECT_EQ(rows(t, {.min_trust = Trust::interpreter}).size(), 2U);
  EXPECT_EQ(rows(t, {.min_trust = Trust::in_process}).size(), 1U);
  EXPECT_EQ(rows(t, {.min_trust = Trust::replay}).size(), 0U);
}

TEST(TrainingRows, BenchmarkTasksStayOutUnlessAskedFor) {
  Trace t = three_turns();
  t.task.source = "kernelbench";
  Tally tally;
  EXPECT_TRUE(rows(t, {}, &tally).empty());
  EXPECT_EQ(tally.benchmarks, 1U);
  EXPECT_EQ(rows(t, {.include_benchmarks = true}).size(), 2U);
}

TEST(TrainingRows, LongRowsAreLeftOut) {
  Tally tally;
  EXPECT_TRUE(rows(three_turns(), {.max_bytes = 100}, &tally).empty());
  EXPECT_EQ(tally.left_out.at("longer than 100 bytes"), 2U);
}

TEST(TrainingRows, KeepWhereTheyComeFrom) {
  auto made = rows(three_turns(), {});
  EXPECT_EQ(made[0].at("task_id"), "kernelbook/7");
  EXPECT_EQ(made[0].at("source"), "kernelbook");
  EXPECT_EQ(made[0].at("licence"), "MIT");
  EXPECT_EQ(made[0].at("repo"), "https://example.org/net");
  EXPECT_EQ(made[0].at("trust"), "in-process");
}

TEST(TrainingRows, HaveTheSameColumnsWhateverIsMissing) {
  Trace bare = three_turns();
  bare.task.licence.clear();
  bare.task.repo.clear();
  for (Turn& each : bare.rounds[0].turns) {
    each.verdict.reset();
    each.reasoning.clear();
  }
  for (Format format : {Format::messages, Format::prompt_completion}) {
    auto full = rows(three_turns(), {.format = format, .filter = Filter::none})[0];
    auto empty = rows(bare, {.format = format, .filter = Filter::none})[0];
    std::vector<std::string> one;
    std::vector<std::string> other;
    for (const auto& member : full) one.emplace_back(member.key());
    for (const auto& member : empty) other.emplace_back(member.key());
    EXPECT_EQ(one, other);
  }
}

// Reads traces that are already in memory.
class Given : public TraceReader {
 public:
  explicit Given(std::vector<Trace> traces) : traces_(std::move(traces)) {}
  Result<std::optional<Trace>> next() override {
    if (at_ == traces_.size()) return std::nullopt;
    return traces_[at_++];
  }

 private:
  std::vector<Trace> traces_;
  std::size_t at_ = 0;
};

Trace without_values() {
  Trace t = three_turns();
  t.task.licence.clear();
  for (Turn& each : t.rounds[0].turns) {
    each.reasoning.clear();
    if (each.verdict) each.verdict->speedup.reset();
  }
  return t;
}

TEST(TrainingFiles, RowsThatShowTheTypesStandInFront) {
  Folder folder;
  Given traces({without_values(), without_values(), three_turns()});
  auto tally = write_training(traces, folder.path("t.jsonl"), {.best_only = true});
  ASSERT_TRUE(tally) << tally.error().what;
  EXPECT_EQ(tally->rows, 3U);
  std::string text = *read_file(folder.path("t.jsonl"));
  // The first row has the columns that every row has, the second the speed, the licence and a reasoning.
  std::vector<json::object> made;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    made.push_back(parse_json(text.substr(at, end - at))->as_object());
  ASSERT_EQ(made.size(), 3U);
  EXPECT_TRUE(made[0].at("speedup").is_null());
  EXPECT_EQ(made[1].at("speedup"), 2.5);
  EXPECT_EQ(made[1].at("licence"), "MIT");
}

TEST(TrainingFiles, TheSameTracesGiveTheSameBytes) {
  Folder folder;
  for (const char* name : {"a.jsonl", "b.jsonl"}) {
    Given traces({three_turns(), without_values()});
    ASSERT_TRUE(write_training(traces, folder.path(name), {}));
  }
  EXPECT_EQ(*read_file(folder.path("a.jsonl")), *read_file(folder.path("b.jsonl")));
}

TEST(TrainingFiles, AreNotWrittenWithoutRows) {
  Folder folder;
  Given traces({three_turns()});
  auto tally = write_training(traces, folder.path("t.jsonl"), {.min_trust = Trust::replay});
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->rows, 0U);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TrainingFiles, TracesKeepTheRecordedForm) {
  Folder folder;
  Given traces({three_turns(), three_turns()});
  TrainingOptions options{.format = Format::traces, .filter = Filter::none, .form = Form::multi};
  ASSERT_TRUE(write_training(traces, folder.path("t.json"), options));
  json::array list = parse_json(*read_file(folder.path("t.json")))->as_array();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("num_turns"), 3);
}

TEST(TrainingFiles, TheCardCountsLicencesAndTypesColumns) {
  Tally tally;
  rows(three_turns(), {}, &tally);
  std::string card = dataset_card("t.jsonl", {}, tally, "1.0");
  EXPECT_TRUE(card.starts_with("---\nlicense: \"mit\"\n"));
  EXPECT_NE(card.find("2 rows from 1 trace; left out: 1 wrong."), std::string::npos);
  EXPECT_NE(card.find("| MIT | 2 |"), std::string::npos);
  EXPECT_NE(card.find("  - name: speedup\n    dtype: float64\n"), std::string::npos);
  EXPECT_NE(card.find("    - name: reasoning_content\n      dtype: string\n"), std::string::npos);
  tally.licences["GPL-3.0"] = 1;
  EXPECT_TRUE(dataset_card("t.jsonl", {}, tally, "1.0").starts_with("---\nlicense: \"other\"\n"));
}

}  // namespace
}  // namespace kw::store
