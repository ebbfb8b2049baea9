#include <boost/json/array.hpp>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "exports_world.h"
#include "loop/exports/inspect_log.h"
#include "loop/exports/inspect_sample.h"

namespace kw::exports {
namespace {

namespace json = boost::json;
using store::judged;
using store::three_turns;
using store::turn;

json::object object_in(const std::map<std::string, std::string>& log, const std::string& name) {
  auto found = log.find(name);
  EXPECT_NE(found, log.end()) << name;
  return found == log.end() ? json::object() : parse_json(found->second)->as_object();
}

struct Log {
  Folder folder;
  Result<Exported> exported = Exported{};
  std::map<std::string, std::string> files;

  explicit Log(std::vector<Trace> traces, std::optional<store::RunFacts> facts = {}) {
    TracesInMemory reader(std::move(traces), std::move(facts));
    exported = write_inspect_log(reader, folder.path("x.eval"), {"x", "0.1"});
    if (exported && exported->traces > 0) files = members(folder.path("x.eval"));
  }
};

TEST(InspectLog, HasAMemberForEachSampleAndOneListOfAll) {
  Trace second = three_turns();
  second.sample_number = 1;
  Log log({three_turns(), second});
  ASSERT_TRUE(log.exported);
  EXPECT_EQ(log.exported->traces, 2U);
  json::object sample = object_in(log.files, "samples/kernelbook/7_epoch_2.json");
  EXPECT_EQ(sample.at("id"), "kernelbook/7");
  EXPECT_EQ(sample.at("epoch"), 2);
  json::array list = parse_json(log.files.at("summaries.json"))->as_array();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("turn_count"), 3);
  EXPECT_TRUE(log.files.contains("_journal/start.json"));
}

TEST(InspectLog, ScoresOfTheBestTurnHaveTheVerdict) {
  Log log({three_turns()});
  json::object scores = object_in(log.files, "samples/kernelbook/7_epoch_1.json").at("scores").as_object();
  EXPECT_EQ(scores.at(counts_scorer).at("value"), "C");
  EXPECT_EQ(scores.at(counts_scorer).at("answer"), "```python\nc\n```");
  EXPECT_EQ(scores.at(counts_scorer).at("metadata").at("speedup"), 2.5);
  EXPECT_EQ(scores.at(speedup_scorer).at("value"), 2.5);
  json::object results = object_in(log.files, "header.json").at("results").as_object();
  EXPECT_EQ(results.at("scores").at(0).at("metrics").at("accuracy").at("value"), 1.0);
}

TEST(InspectLog, TheInputIsThePromptWithoutTheSystemsPart) {
  Log log({three_turns()});
  json::object sample = object_in(log.files, "samples/kernelbook/7_epoch_1.json");
  ASSERT_EQ(sample.at("input").as_array().size(), 1U);
  EXPECT_EQ(sample.at("input").at(0).at("content"), "Convert this.");
  EXPECT_EQ(sample.at("messages").as_array().size(), 7U);
  json::value listed = parse_json(log.files.at("summaries.json"))->at(0);
  EXPECT_EQ(listed.at("scores").at(counts_scorer).at("answer"), "c");
}

TEST(InspectLog, AFenceIsLongerThanThoseInTheCode) {
  Trace t = three_turns();
  t.rounds[0].turns[2].code = "'````'";
  Log log({t});
  json::object scores = object_in(log.files, "samples/kernelbook/7_epoch_1.json").at("scores").as_object();
  EXPECT_EQ(scores.at(counts_scorer).at("answer"), "`````python\n'````'\n`````");
}

TEST(InspectLog, AnEventRefersToWhatTheModelWasSent) {
  Log log({three_turns()});
  json::object sample = object_in(log.files, "samples/kernelbook/7_epoch_1.json");
  std::vector<json::object> calls;
  for (const json::value& event : sample.at("events").as_array())
    if (event.at("event") == "model") calls.push_back(event.as_object());
  ASSERT_EQ(calls.size(), 3U);
  const json::array& pool = sample.at("events_data").at("messages").as_array();
  json::array last = calls[2].at("input_refs").as_array();
  EXPECT_EQ(last, (json::array{{0, 2}, {2, 6}}));
  EXPECT_EQ(pool[5].at("content"), "Too slow.");
  EXPECT_EQ(calls[0].at("output").at("choices").at(0).at("message").at("content").at(0).at("reasoning"),
            "thought 1");
  EXPECT_EQ(calls[0].at("timestamp"), "2026-01-02T03:04:03.500006Z");
}

TEST(InspectLog, TheSecondRoundSendsThePromptAlone) {
  Trace t = three_turns();
  t.rounds.push_back(
      {{turn(1, "d", judged(Status::failed)), turn(2, "e")}, StopReason::max_turns_reached, ""});
  Log log({t});
  json::object sample = object_in(log.files, "samples/kernelbook/7_epoch_1.json");
  const json::array& pool = sample.at("events_data").at("messages").as_array();
  json::array refs;
  std::size_t spans = 0;
  for (const json::value& event : sample.at("events").as_array()) {
    if (event.at("event") == "model") refs = event.at("input_refs").as_array();
    if (event.at("event") == "span_begin") ++spans;
  }
  EXPECT_EQ(refs, (json::array{{0, 2}, {7, 8}}));
  EXPECT_EQ(pool[7].at("content"), json::value(t.rounds[1].turns[0].completion));
  EXPECT_EQ(spans, 2U);
}

TEST(InspectLog, ATraceWithoutAnswerHasAnErrorAndNoScore) {
  Trace t = store::trace();
  t.rounds.push_back({{}, StopReason::generation_failed, "the server is gone"});
  Log log({t});
  json::object sample = object_in(log.files, "samples/kernelbook/7_epoch_1.json");
  EXPECT_EQ(sample.at("error").at("message"), "the server is gone");
  EXPECT_TRUE(sample.at("scores").is_null());
  EXPECT_EQ(object_in(log.files, "header.json").at("results").at("completed_samples"), 0);
}

TEST(InspectLog, AVerdictOfAnotherEvaluatorDoesNotSayThatItCounts) {
  Verdict other = judged(Status::correct);
  other.counts.reset();
  ASSERT_EQ(values_of(other).size(), 1U);
  EXPECT_STREQ(values_of(other)[0].first, correct_scorer);
  EXPECT_TRUE(values_of(judged(Status::error)).empty());
  EXPECT_TRUE(values_of(judged(Status::skipped)).empty());
}

TEST(InspectLog, AnUnfinishedRunIsCancelled) {
  store::RunFacts facts;
  facts.info.settings = {{"model", "tiny"}};
  facts.info.created_at = "2026-01-01T00:00:00Z";
  facts.summary.traces = 5;
  facts.summary.ended = 1;
  Log log({three_turns()}, facts);
  json::object header = object_in(log.files, "header.json");
  EXPECT_EQ(header.at("status"), "cancelled");
  EXPECT_EQ(header.at("results").at("total_samples"), 5);
  EXPECT_EQ(header.at("eval").at("model"), "tiny");
  EXPECT_EQ(log.exported->not_ended, 4U);
}

TEST(InspectLog, RepeatedSamplesGetEpochsOfTheirOwn) {
  Log log({three_turns(), three_turns(), three_turns()});
  for (int epoch : {1, 2, 3})
    EXPECT_TRUE(log.files.contains("samples/kernelbook/7_epoch_" + std::to_string(epoch) + ".json"));
}

TEST(InspectLog, IdsAreSafeNamesOfMembers) {
  EXPECT_EQ(sample_id("kernelbench/1/19"), "kernelbench/1/19");
  for (const std::string& bad :
       {std::string("../../etc/x"), std::string("/a"), std::string("a//b"), std::string("a\0b", 3),
        std::string("ä"), std::string("\xff"), std::string(""), std::string("a\\b"), std::string(5000, 'x'),
        std::string("a/"), std::string("a\nb")}) {
    std::string id = sample_id(bad);
    EXPECT_TRUE(id.starts_with("task_")) << id;
    EXPECT_FALSE(id.contains("..") && id.contains('/')) << id;
    EXPECT_LE(id.size(), 200U);
    for (char c : id) EXPECT_TRUE(c > 0x20 && c < 0x7f);
  }
  EXPECT_NE(sample_id("ä"), sample_id("ö"));
}

TEST(InspectLog, HostileTextStaysJson) {
  using namespace std::string_literals;
  Trace t = three_turns();
  t.task.task_id = "../\xff\x00";
  t.task.name = "\xed\xa0\x80";
  Turn& first = t.rounds[0].turns[0];
  first.completion = "a\0b\xff\"\x1b[31m</script>\xe2\x80\xa8"s;
  first.reasoning = "\xc3";
  first.model = "\xf0\x9f";
  first.answered_at = "whenever";
  first.generation_ms = std::numeric_limits<double>::infinity();
  first.usage = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(), -5};
  first.verdict->error = "```\n````\xfe";
  first.finish_reason = "\xff";
  Log log({t});
  for (const auto& [name, bytes] : log.files) {
    EXPECT_TRUE(is_utf8(bytes)) << name;
    EXPECT_TRUE(parse_json(bytes)) << name;
  }
}

TEST(InspectLog, AnEmptyRunWritesNoFile) {
  Trace none;
  none.task.task_id = "a/b";
  Log log({none});
  ASSERT_TRUE(log.exported);
  EXPECT_EQ(log.exported->traces, 0U);
  EXPECT_EQ(log.exported->without_any, 1U);
  EXPECT_TRUE(std::filesystem::is_empty(log.folder.path()));
}

TEST(InspectLog, EqualTracesGiveEqualBytes) {
  Log one({three_turns()});
  Log other({three_turns()});
  EXPECT_EQ(*read_file(one.folder.path("x.eval")), *read_file(other.folder.path("x.eval")));
}

TEST(InspectLog, IsRecognisedByItsFirstMember) {
  Log log({three_turns()});
  EXPECT_TRUE(is_inspect_log(log.folder.path("x.eval")));
  log.folder.write("other.eval", "PK\x03\x04 and so on, longer than a local header and its name would be");
  EXPECT_FALSE(is_inspect_log(log.folder.path("other.eval")));
  EXPECT_FALSE(is_inspect_log(log.folder.path("none.eval")));
}

TEST(InspectLog, AFullDiskIsAnError) {
  TracesInMemory reader({three_turns()});
  auto exported = write_inspect_log(reader, "/dev/full/x.eval", {"x", "0.1"});
  EXPECT_FALSE(exported);
}

}  // namespace
}  // namespace kw::exports
