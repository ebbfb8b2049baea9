#include "types/trace.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/core/files.h"
#include "base/core/json.h"
#include "store_world.h"
#include "support/home.h"

namespace kw {
namespace {

namespace json = boost::json;
using store::judged;
using store::three_turns;
using store::trace;
using store::turn;

std::vector<std::string> keys(const json::value& object) {
  std::vector<std::string> names;
  for (const auto& member : object.as_object()) names.emplace_back(member.key());
  return names;
}

std::vector<std::string> first_keys(const json::value& object, std::size_t count) {
  auto names = keys(object);
  names.resize(std::min(count, names.size()));
  return names;
}

std::string text(const json::object& object) {
  return json::serialize(object);
}

// A row without the fields that differ from recorded files on purpose.
json::object without(json::object row, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) row.erase(name);
  return row;
}

// Every field of the recorded value is present with an equal value; further fields are allowed.
void expect_holds(const json::value& ours, const json::value& recorded, const std::string& where) {
  if (const auto* object = recorded.if_object()) {
    ASSERT_TRUE(ours.is_object()) << where;
    for (const auto& [name, value] : *object) {
      ASSERT_TRUE(ours.as_object().contains(name)) << where << "." << name;
      expect_holds(ours.as_object().at(name), value, where + "." + std::string(name));
    }
  } else if (const auto* array = recorded.if_array()) {
    ASSERT_TRUE(ours.is_array() && ours.as_array().size() == array->size()) << where;
    for (std::size_t i = 0; i < array->size(); ++i)
      expect_holds(ours.as_array()[i], (*array)[i], where + "[" + std::to_string(i) + "]");
  } else {
    EXPECT_EQ(json::serialize(ours), json::serialize(recorded)) << where;
  }
}

json::array rows_of(const std::string& path) {
  auto bytes = read_file(path);
  return bytes ? parse_json(*bytes)->as_array() : json::array();
}

TEST(Trace, SingleTurnFieldsStandAsRecorded) {
  json::object row = single_turn_json(three_turns());
  EXPECT_EQ(first_keys(row, 12),
            (std::vector<std::string>{"sample_key", "source", "level", "name", "problem_id", "pytorch_code",
                                      "thinking", "model_reasoning", "triton_code", "full_completion",
                                      "result", "timestamp"}));
  EXPECT_EQ(first_keys(row.at("result"), 6),
            (std::vector<std::string>{"correctness", "speedup", "fast_0", "fast_1", "fast_2", "error"}));
}

TEST(Trace, MultiTurnFieldsStandAsRecorded) {
  json::object row = multi_turn_json(three_turns());
  EXPECT_EQ(first_keys(row, 13),
            (std::vector<std::string>{"sample_key", "source", "level", "name", "problem_id", "pytorch_code",
                                      "num_turns", "stop_reason", "final_triton_code", "final_result",
                                      "turns", "full_messages", "timestamp"}));
  EXPECT_EQ(first_keys(row.at("turns").as_array()[0], 6),
            (std::vector<std::string>{"turn", "reasoning", "triton_code", "full_completion", "result",
                                      "feedback_given"}));
  EXPECT_EQ(
      first_keys(row.at("final_result"), 10),
      (std::vector<std::string>{"kernel_name", "timestamp", "correctness", "speedup", "reference_time_ms",
                                "kernel_time_ms", "fast_0", "fast_1", "fast_2", "error"}));
}

TEST(Trace, LevelsAndProblemsAreNumbersWhereTheyAre) {
  Trace t = trace("2/9", "kernelbench");
  t.task.level = "2";
  t.task.problem_id = "9";
  json::object row = multi_turn_json(t);
  EXPECT_EQ(row.at("level"), 2);
  EXPECT_EQ(row.at("problem_id"), 9);
  EXPECT_EQ(row.at("sample_key"), "kernelbench_9");
  t.task.level = "hard";
  EXPECT_EQ(multi_turn_json(t).at("level"), "hard");
}

TEST(Trace, ThinkingIsWhatStandsBeforeTheCode) {
  Trace t = three_turns();
  EXPECT_EQ(single_turn_json(t).at("thinking"), "First this.");
  Turn& best = t.rounds[0].turns[2];
  best.completion = "Then that:\n```python\nc\n```\nDone.";
  EXPECT_EQ(single_turn_json(t).at("thinking"), "Then that:");
  best.completion = "c";
  EXPECT_TRUE(single_turn_json(t).at("thinking").is_null());
}

TEST(Trace, TheBestTurnIsFinalAndTheLastIsNamed) {
  Trace t = three_turns();
  std::swap(t.rounds[0].turns[1].verdict, t.rounds[0].turns[2].verdict);
  json::object row = multi_turn_json(t);
  EXPECT_EQ(row.at("final_triton_code"), "b");
  EXPECT_EQ(row.at("final_turn"), 2);
  EXPECT_EQ(row.at("last_turn"), 3);
}

TEST(Trace, FullMessagesEndBeforeTheLastAnswer) {
  json::object row = multi_turn_json(three_turns());
  const json::array& messages = row.at("full_messages").as_array();
  ASSERT_EQ(messages.size(), 6U);
  EXPECT_EQ(messages.back().at("content"), "Too slow.");
}

TEST(Trace, CountingBeatsSpeedAndSpeedBeatsOrder) {
  Conversation round;
  EXPECT_EQ(best_turn(round), nullptr);
  Verdict decoy = judged(Status::correct, 9.0);
  decoy.counts = false;
  round.turns = {turn(1, "a", judged(Status::correct, 1.5)), turn(2, "b", judged(Status::correct, 1.2)),
                 turn(3, "c", decoy), turn(4, "d", judged(Status::incorrect)), turn(5, "e")};
  EXPECT_EQ(best_turn(round)->turn, 1U);
  round.turns.erase(round.turns.begin(), round.turns.begin() + 2);
  EXPECT_EQ(best_turn(round)->turn, 3U);
  round.turns.erase(round.turns.begin());
  EXPECT_EQ(best_turn(round)->turn, 4U);
  round.turns.push_back(turn(6, "f", judged(Status::incorrect)));
  EXPECT_EQ(best_turn(round)->turn, 6U);
}

TEST(Trace, ARoundThatIsNoBetterSpeaksWhereItIsLater) {
  Trace t = trace();
  t.rounds.resize(2);
  t.rounds[0].turns = {turn(1, "a", judged(Status::failed))};
  t.rounds[1].turns = {turn(1, "b", judged(Status::failed))};
  EXPECT_EQ(best_round(t), &t.rounds[1]);
  EXPECT_TRUE(is_failed(t));
  t.rounds[0].turns.push_back(turn(2, "c", judged(Status::correct)));
  EXPECT_EQ(best_round(t), t.rounds.data());
  EXPECT_FALSE(is_failed(t));
}

TEST(Trace, OurMultiTurnRowsComeBackWithoutLoss) {
  Trace t = three_turns();
  t.task.input_shapes = R"({"x":{"shape":[4],"dtype":"float32"}})";
  t.sample_number = 3;
  t.rounds.insert(t.rounds.begin(),
                  Conversation{{turn(1, "z", judged(Status::incorrect))}, StopReason::max_turns_reached, ""});
  t.rounds[1].turns[2].judged_at = "2026-01-02T03:04:59.000000Z";
  json::object row = multi_turn_json(t);
  EXPECT_EQ(row.at("round"), 2);
  auto back = trace_from_json(row);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->rounds.size(), 2U);
  EXPECT_EQ(back->rounds[0].turns[0].code, "z");
  EXPECT_EQ(back->prompt.size(), 2U);
  EXPECT_EQ(text(multi_turn_json(*back)), text(row));
}

TEST(Trace, OurSingleTurnRowsComeBackWithoutLoss) {
  Trace t = trace();
  t.rounds.push_back({{turn(1, "a", judged(Status::correct, 1.1))}, StopReason::success_fast, ""});
  json::object row = single_turn_json(t);
  auto back = trace_from_json(row);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->rounds[0].turns[0].reasoning, "thought 1");
  EXPECT_EQ(back->rounds[0].turns[0].usage.completion_tokens, 20);
  EXPECT_EQ(back->prompt[0].content, "Write kernels.");
  EXPECT_EQ(text(single_turn_json(*back)), text(row));
}

TEST(Trace, ATraceWithoutAnAnswerComesBackToo) {
  Trace t = trace();
  t.rounds.push_back({{}, StopReason::generation_failed, "the server went away"});
  for (const json::object& row : {single_turn_json(t), multi_turn_json(t)}) {
    auto back = trace_from_json(row);
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_TRUE(back->rounds[0].turns.empty());
    EXPECT_EQ(back->rounds[0].stop_reason, StopReason::generation_failed);
    EXPECT_EQ(back->rounds[0].error, "the server went away");
  }
}

TEST(Trace, RecordedVerdictsCountForNothingUnlessJudgedHere) {
  auto back = trace_from_json(json::object{{"sample_key", "kernelbook_5"},
                                           {"source", "kernelbook"},
                                           {"pytorch_code", "r"},
                                           {"full_completion", "k"},
                                           {"triton_code", "k"},
                                           {"result", {{"correctness", true}, {"speedup", 3.0}}}});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->task.task_id, "kernelbook/5");
  EXPECT_EQ(back->rounds[0].turns[0].verdict->status, Status::correct);
  EXPECT_TRUE(is_failed(*back));
}

TEST(Trace, ARowWithoutItsReferenceIsNoTrace) {
  EXPECT_FALSE(trace_from_json(json::object{{"sample_key", "a"}}));
}

TEST(Trace, EverySampleTraceComesBackInItsOwnForm) {
  for (const char* name : {"single_turn.json", "multi_turn.json"})
    for (const json::value& row : rows_of(source_file(std::string("examples/sample/") + name))) {
      auto read = trace_from_json(row.as_object());
      ASSERT_TRUE(read) << read.error().what;
      bool multi = row.as_object().contains("turns");
      // The sample's last answer is in full_messages too, its text before the code differs, and it does not
      // state whether a wrong kernel is fast.
      json::object kept = without(
          row.as_object(), {"full_messages", "thinking", "final_triton_code", "final_result", "result"});
      if (multi)
        for (json::value& turn : kept.at("turns").as_array())
          turn.at("result") = without(turn.at("result").as_object(), {"fast_1", "fast_2"});
      expect_holds(multi ? multi_turn_json(*read) : single_turn_json(*read), kept, name);
    }
}

TEST(Trace, EveryRecordedSingleTurnTraceComesBackFieldForField) {
  json::array rows = rows_of(recorded_file("recorded_glm45_single_turn.json"));
  if (rows.empty()) GTEST_SKIP() << "the recorded completions are not here";
  for (const json::value& row : rows) {
    auto read = trace_from_json(row.as_object());
    ASSERT_TRUE(read) << read.error().what;
    expect_holds(single_turn_json(*read), row, std::string(row.at("sample_key").as_string()));
  }
}

TEST(Trace, EveryRecordedMultiTurnTraceComesBackFieldForField) {
  json::array rows = rows_of(recorded_file("recorded_qwen3_multi_turn.json"));
  if (rows.empty()) GTEST_SKIP() << "the recorded completions are not here";
  for (const json::value& row : rows) {
    auto read = trace_from_json(row.as_object());
    ASSERT_TRUE(read) << read.error().what;
    // The recorded turn is the last one; this export's is the best.
    json::object kept = without(row.as_object(), {"final_triton_code", "final_result"});
    expect_holds(multi_turn_json(*read), kept, std::string(row.at("sample_key").as_string()));
  }
}

}  // namespace
}  // namespace kw
