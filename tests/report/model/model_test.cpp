#include "report/model/model.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "base/core/files.h"
#include "base/core/text.h"
#include "sources.h"
#include "types/review.h"

namespace kw::report {
namespace {

Trace second(const std::string& uuid) {
  Trace trace = store::trace(uuid);
  trace.rounds.push_back(
      {{store::turn(1, "a", store::judged(Status::incorrect))}, StopReason::max_turns_reached, ""});
  return trace;
}

struct ReportModel : testing::Test, Sources {};

TEST_F(ReportModel, HasARowForEachTraceWithTheFactsOfItsBestTurn) {
  Model model = model_of({traces({store::three_turns(), second("8")})});
  const Rows& rows = model.index().rows;
  ASSERT_EQ(rows.count, 2U);
  EXPECT_EQ(rows.kind[0], "trace");
  EXPECT_EQ(rows.key[0], "kernelbook/7~0");
  EXPECT_EQ(rows.status[0], "correct");
  EXPECT_EQ(rows.standing[0], "right");
  EXPECT_EQ(rows.speedup[0], 2.5);
  EXPECT_EQ(rows.turns[0], 3);
  EXPECT_EQ(rows.prompt_tokens[0], 300);
  EXPECT_EQ(rows.stop_reason[0], "success_fast");
  EXPECT_EQ(rows.standing[1], "wrong");
  EXPECT_TRUE(rows.speedup.is_null(1));
}

TEST_F(ReportModel, TakesATraceOfAFileAsUnfinishedOnlyIfItsStopReasonIsNull) {
  Trace open = second("8");
  open.rounds[0].stop_reason.reset();
  boost::json::object foreign = multi_turn_json(open);
  foreign.erase("stop_reason");
  std::string text =
      boost::json::serialize(multi_turn_json(open)) + "\n" + boost::json::serialize(foreign) + "\n";
  Model model = model_of({write("t.jsonl", text)});
  const Rows& rows = model.index().rows;
  ASSERT_EQ(rows.count, 2U);
  EXPECT_EQ(rows.unfinished[0], true);
  EXPECT_TRUE(rows.unfinished.is_null(1));
  EXPECT_EQ(rows.standing[1], "wrong");
}

TEST_F(ReportModel, TakesTheDtypesOfInputsFromTheCallWhereThereIsNoRecord) {
  Trace trace = store::three_turns();
  for (Turn& turn : trace.rounds[0].turns)
    if (turn.verdict) turn.verdict->call.emplace().input_dtypes = {"bfloat16", "int64"};
  Model model = model_of({traces({trace})});
  EXPECT_EQ(model.index().rows.dtype[0], "bfloat16, int64");
}

TEST_F(ReportModel, SaysOfEachTurnWhetherItHasAnEvidenceRecord) {
  Trace trace = store::three_turns();
  trace.rounds[0].turns[1].verdict->evidence.emplace();
  Model model = model_of({traces({trace})});
  const Turns& turns = model.index().turns;
  EXPECT_EQ(turns.evidence[0], false);
  EXPECT_EQ(turns.evidence[1], true);
}

TEST_F(ReportModel, HasATurnForEachAnswer) {
  Model model = model_of({traces({second("8"), store::three_turns()})});
  const Turns& turns = model.index().turns;
  ASSERT_EQ(turns.count, 4U);
  EXPECT_EQ(turns.row[1], 1);
  EXPECT_EQ(turns.turn[3], 3);
  EXPECT_EQ(turns.status[1], "failed");
  EXPECT_EQ(turns.speedup[3], 2.5);
}

TEST_F(ReportModel, YieldsTheDetailOfATraceWithoutRepetitions) {
  Model model({traces({store::three_turns()})}, {});
  auto details = details_of(model);
  ASSERT_EQ(details.size(), 1U);
  const boost::json::object& trace = details[0]["trace"].as_object();
  EXPECT_EQ(details[0]["kind"], "trace");
  EXPECT_EQ(trace.at("prompt").as_array().size(), 2U);
  EXPECT_EQ(trace.at("turns").as_array().size(), 3U);
  EXPECT_FALSE(trace.contains("full_messages"));
  EXPECT_FALSE(trace.contains("final_result"));
  const boost::json::array& explained = details[0]["explained"].as_array();
  ASSERT_EQ(explained.size(), 3U);
  EXPECT_EQ(explained[0].at("error"), "it broke");
}

TEST_F(ReportModel, ReadsADetailAgainByItsKey) {
  Model model({traces({second("8"), store::three_turns()}), verdicts({verdict("v"), verdict("w")})}, {});
  auto details = details_of(model);
  ASSERT_EQ(details.size(), 4U);
  for (std::size_t row = 0; row < details.size(); ++row) {
    auto again = model.detail(model.index().rows.key[row]);
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(*again, details[row]);
  }
  EXPECT_FALSE(model.detail("no such key"));
}

TEST_F(ReportModel, GivesEveryRowAKeyOfItsOwn) {
  std::string file = traces({store::three_turns(), store::three_turns()});
  Model model = model_of({file, file});
  const Rows& rows = model.index().rows;
  ASSERT_EQ(rows.count, 4U);
  EXPECT_EQ(rows.key[1], "kernelbook/7~0@2");
  EXPECT_EQ(rows.key[2], "s2/kernelbook/7~0");
  EXPECT_EQ(model.index().sources[1].name, "traces.json (2)");
  EXPECT_EQ(rows.source[3], 1);
}

TEST_F(ReportModel, TakesTheTimesOfAVerdict) {
  Verdict timed = verdict("v");
  timed.reference_time_ms = 2;
  timed.kernel_time_ms = 1;
  timed.timing.reference_interval_ms = {1.5, 2.5};
  timed.timing.kernel_interval_ms = {0.5, 1.25};
  timed.timing.compile_time_ms = 1.5;
  Model model = model_of({verdicts({timed})});
  const Rows& rows = model.index().rows;
  EXPECT_DOUBLE_EQ(*rows.speedup_low[0], 1.2);
  EXPECT_DOUBLE_EQ(*rows.speedup_high[0], 5);
  EXPECT_DOUBLE_EQ(*rows.compile_speedup[0], 1.5);
}

TEST_F(ReportModel, TakesTheSpeedUpsOfBothPasses) {
  Verdict timed = verdict("a");
  timed.timing.segments = Segments{{.reference_time_ms = 0.3, .kernel_time_ms = 0.2, .speedup = 1.5},
                                   {.reference_time_ms = 0.1, .kernel_time_ms = 0, .speedup = {}}};
  Model model = model_of({verdicts({timed, verdict("b")})});
  const Rows& rows = model.index().rows;
  EXPECT_EQ(rows.forward_speedup[0], 1.5);
  EXPECT_TRUE(rows.backward_speedup.is_null(0));
  EXPECT_TRUE(rows.forward_speedup.is_null(1));
}

TEST_F(ReportModel, TakesTheOutcomeOfEachSanitizer) {
  Verdict checked = verdict("a");
  checked.sanitized = {{.check = Sanitizer::bounds, .outcome = SanitizerOutcome::clean},
                       {.check = Sanitizer::memcheck, .why_not = "it needs a GPU"}};
  Verdict wrong = verdict("b");
  wrong.sanitized.emplace();
  Model model = model_of({verdicts({checked, wrong, verdict("c")})});
  const Rows& rows = model.index().rows;
  EXPECT_EQ(rows.sanitized[0], "bounds clean, memcheck not run");
  EXPECT_EQ(rows.sanitized[1], "no check ended");
  EXPECT_TRUE(rows.sanitized.is_null(2));
}

TEST_F(ReportModel, TakesTheResultAtOtherShapes) {
  Verdict tried = verdict("a");
  tried.generality = Generality{.shapes = ShapeGenerality::given_only};
  Verdict varied = verdict("b");
  varied.generality.emplace();
  Model model = model_of({verdicts({tried, varied, verdict("c")})});
  const Rows& rows = model.index().rows;
  EXPECT_EQ(rows.other_shapes[0], "given_only");
  EXPECT_TRUE(rows.other_shapes.is_null(1));
  EXPECT_TRUE(rows.other_shapes.is_null(2));
}

TEST_F(ReportModel, LeavesRestrictedRowsOutAndCountsThem) {
  Trace restricted = second("9");
  restricted.task.licence = "GPL-3.0-only";
  std::string file = traces({second("8"), restricted});
  Model model = model_of({file});
  EXPECT_EQ(model.index().rows.count, 1U);
  const auto& left_out = model.index().contents.left_out;
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].why, "licence GPL-3.0-only");
  EXPECT_EQ(left_out[0].count, 1U);
  EXPECT_EQ(model_of({file}, {.include_restricted = true}).index().rows.count, 2U);
}

TEST_F(ReportModel, NamesEveryTraceThatCannotBeReadAndReadsTheOthers) {
  std::string good = boost::json::serialize(multi_turn_json(second("8")));
  std::string file =
      write("t.jsonl", good + "\n{\"pytorch_code\": 3, \"turns\": []}\n{broken\n" + good + "\n");
  Model model = model_of({file});
  EXPECT_EQ(model.index().rows.count, 2U);
  EXPECT_EQ(model.index().sources[0].messages.size(), 2U);
  EXPECT_EQ(model.index().sources[0].state, SourceState::damaged);
  EXPECT_FALSE(model.is_whole());
}

TEST_F(ReportModel, ReadsATruncatedFileUpToItsEnd) {
  std::string file = traces({second("8"), second("9")});
  std::string text = *read_file(file);
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, text.size() / 4, text.size() / 2, text.size() - 40}) {
    Model model = model_of({write("cut.json", text.substr(0, bytes))});
    EXPECT_FALSE(model.is_whole()) << bytes;
    EXPECT_LE(model.index().rows.count, 1U);
  }
}

TEST_F(ReportModel, BoundsItsMessages) {
  std::string text = boost::json::serialize(multi_turn_json(second("8"))) + "\n";
  for (int i = 0; i < 100; ++i) text += "{broken\n";
  Model model = model_of({write("t.jsonl", text)});
  EXPECT_EQ(model.index().sources[0].messages.size(), 21U);
  EXPECT_EQ(model.index().sources[0].messages.back(), "and 80 more");
}

TEST_F(ReportModel, SurvivesTextsThatAreNoUtf8AndNumbersThatAreNone) {
  Trace odd = second("8");
  odd.task.name = "n\xFF";
  odd.rounds[0].turns[0].completion = std::string("a\0\x80\xE2\x80\xAE", 6);
  odd.rounds[0].turns[0].verdict->speedup = std::numeric_limits<double>::infinity();
  boost::json::object detail = [&] {
    store::World world;
    EXPECT_TRUE(world.open());
    world.keep(odd);
    Model model({world.run()}, {});
    auto details = details_of(model);
    EXPECT_EQ(details.size(), 1U);
    EXPECT_TRUE(model.index().rows.speedup.is_null(0));
    return details.at(0);
  }();
  EXPECT_TRUE(is_utf8(boost::json::serialize(detail)));
}

TEST_F(ReportModel, RedactsPromptsPathsAndHosts) {
  Trace trace = store::three_turns();
  trace.rounds[0].turns[0].verdict->error = "cannot open /home/ann/x/y.py at http://gpu7.example:80/a";
  trace.rounds[0].turns[0].verdict->error_detail =
      ErrorDetail{{}, {}, {}, "File \"/home/ann/x/y.py\", line 1"};
  trace.task.task_id = "/home/ann/tasks/t.py";
  trace.task.source = "http://gpu7.example/rows";
  trace.rounds[0].turns[0].model = "/home/ann/models/m";
  trace.rounds[0].turns[0].verdict->environment.protocol = "p";
  trace.rounds[0].turns[0].verdict->environment.gpu = "GPU of gpu7.example.internal";
  trace.sampling = {
      {"system", "Convert this."}, {"url", "http://gpu7.example/v1"}, {"folder", "data/private"}};
  Model model({traces({trace})}, {.redact = true});
  auto details = details_of(model);
  boost::json::object index = to_json(model.index());
  index.erase("words");
  std::string all = boost::json::serialize(details[0]) + boost::json::serialize(index);
  for (const char* hidden : {"/home/ann", "gpu7", "data/private", "Convert this.", "It broke."})
    EXPECT_EQ(all.find(hidden), std::string::npos) << hidden;
  EXPECT_TRUE(model.index().contents.redacted);
  EXPECT_EQ(model.index().contents.left_out[0].what, "prompts");
}

TEST_F(ReportModel, SaysWhatItHolds) {
  Model model({traces({store::three_turns()})}, {});
  details_of(model);
  std::map<std::string, std::uint64_t> holds;
  for (const auto& each : model.index().contents.holds) holds[each.what] = each.count;
  EXPECT_EQ(holds["prompts"], 1U);
  EXPECT_EQ(holds["completions"], 3U);
  EXPECT_EQ(holds["reasoning"], 3U);
  EXPECT_EQ(holds["verdicts"], 3U);
  EXPECT_EQ(holds.count("dataset_rows"), 0U);
}

TEST_F(ReportModel, GivesTheSameIndexTwice) {
  std::vector<std::string> paths{traces({store::three_turns(), second("8")}), verdicts({verdict("v")})};
  auto text = [&] {
    return boost::json::serialize(to_json(model_of(paths, {.made_at = "2026-01-01T00:00:00Z"}).index()));
  };
  EXPECT_EQ(text(), text());
}

TEST_F(ReportModel, AddsSourcesOfCandidatesThatTheCallerKnows) {
  Verdict bad = verdict("v", Status::failed);
  bad.candidate_sha256 = "abc";
  Model model({verdicts({bad})}, {.code_of = [](const std::string& sha256) {
                return JudgedCode{"reference of " + sha256, "code of " + sha256};
              }});
  auto details = details_of(model);
  EXPECT_EQ(details.at(0)["kernel_code"], "code of abc");
  EXPECT_EQ(details.at(0)["reference_code"], "reference of abc");
}

TEST_F(ReportModel, ReadsRowsOfADataSetWithTheRowThatTheyDuplicate) {
  std::string row = R"({"prompt": "p", "completion": "c)";
  std::string text =
      row + R"(1", "id": "i1", "kind": "fim", "split": "train", "tokens": 4, "duplicate_of": "i2",
    "leakage": [{"relation": "benchmark"}, {"relation": "rows"}], "labels": {"compile": "fails"},
    "licence": {"spdx": "MIT"}, "source": {"name": "torch"}})";
  std::erase(text, '\n');
  text += "\n" + row + R"(2", "id": "i2", "kind": "fim"})" + "\n";
  write("set/ANALYSIS.json", R"({"rows": 2})");
  write("set/fim.jsonl", text);
  Model model({folder.path("set")}, {});
  auto details = details_of(model);
  ASSERT_EQ(details.size(), 2U);
  const Rows& rows = model.index().rows;
  EXPECT_EQ(rows.leakage[0], 1);
  EXPECT_EQ(rows.compile[0], "fails");
  EXPECT_EQ(rows.task_source[0], "torch");
  EXPECT_EQ(details[0]["twin"].at("completion"), "c2");
  EXPECT_TRUE(details[1]["twin"].is_null());
  ASSERT_EQ(model.index().datasets.size(), 1U);
  EXPECT_EQ(model.index().datasets[0].at("source"), 0);
}

TEST_F(ReportModel, ListsTheUnitsThatABuildDropped) {
  write("set/fim.jsonl", R"({"prompt": "p", "completion": "c", "id": "i1"})"
                         "\n");
  write("set/duplicates.jsonl", R"({"name": "add", "duplicate_of": "92f3", "how": "exact"})"
                                "\n"
                                R"({"name": "mul", "duplicate_of": "92f4", "how": "near"})"
                                "\n");
  write("set/left_out.jsonl", R"({"name": "gpl_add", "licence": {"spdx": "GPL-3.0-only"}})"
                              "\n");
  Model model({folder.path("set")}, {});
  details_of(model);
  ASSERT_EQ(model.index().datasets.size(), 1U);
  const auto& dropped = model.index().datasets[0].at("dropped").as_object();
  EXPECT_EQ(dropped.at("duplicates").at("count").to_number<int>(), 2);
  EXPECT_EQ(dropped.at("duplicates").at("units").at(1).at("how"), "near");
  EXPECT_EQ(dropped.at("left_out").at("units").at(0).at("licence").at("spdx"), "GPL-3.0-only");
}

TEST_F(ReportModel, KeepsTheLabelOfARowThatIsReadAgain) {
  std::string file = traces({second("8")});
  auto label = [&](const std::string& reviewer, ReviewLabel given) {
    ReviewedAnswer answer;
    answer.key = "kernelbook/8~0";
    ASSERT_TRUE(append_review(review_log_path(file), {answer, reviewer, given, "", utc_now()}));
  };
  label("Ada", ReviewLabel::unsure);
  Model model = model_of({file});
  EXPECT_EQ(model.index().rows.label[0], "unsure");
  label("Bob", ReviewLabel::good);
  EXPECT_TRUE(model.refresh());
  EXPECT_EQ(model.index().rows.label[0], "good");
  traces({second("8"), second("9")});
  EXPECT_TRUE(model.refresh());
  EXPECT_EQ(model.index().rows.count, 2U);
  EXPECT_EQ(model.index().rows.label[0], "good");
  EXPECT_EQ(model.index().rows.reviewers[0], 2);
  EXPECT_FALSE(model.refresh());
}

TEST_F(ReportModel, NamesTheLinesOfAReviewLogThatItCannotRead) {
  std::string file = traces({second("8")});
  ASSERT_TRUE(write_file(review_log_path(file), "no JSON\n"));
  EXPECT_THAT(model_of({file}).index().sources[0].messages, testing::Contains(testing::HasSubstr("line 1")));
}

}  // namespace
}  // namespace kw::report
