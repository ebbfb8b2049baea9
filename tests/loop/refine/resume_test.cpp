// A killed run continues from the log.
#include <gtest/gtest.h>

#include "loop/refine/conversations.h"
#include "world.h"

namespace kw::test {
namespace {

// Three turns in two conversations, so that every kind of write happens.
std::string words_for(const llm::ChatRequest& request) {
  if (request.id.starts_with("t0001")) return "slow then broken " + request.id.substr(request.id.size() - 1);
  if (request.id.ends_with("/1/3") || request.id.ends_with("/2/1")) return "fast";
  return "wrong " + request.id.substr(request.id.size() - 3);
}

void prepare(World& world) {
  world.settings.multi_turn = true;
  world.settings.retry_failed = true;
  world.settings.max_turns = 2;
  world.settings.requests_in_flight = 1;
  world.chat.script = [](const llm::ChatRequest& request) { return FakeChat::says(words_for(request)); };
}

std::string summary(const FakeLog::Traces& traces) {
  std::string text;
  for (const auto& [key, trace] : traces) {
    text += fmt::format("{}:", key.task_id);
    for (const Conversation& round : trace.rounds) {
      for (const Turn& turn : round.turns)
        text +=
            fmt::format(" {} {} {}", turn.verdict->id, to_string(turn.verdict->status), turn.feedback.size());
      text += fmt::format(" [{}]", to_string(*round.stop_reason));
    }
    text += trace.ended_at.empty() ? " open\n" : "\n";
  }
  return text;
}

std::size_t answers_in(const FakeLog::Traces& traces) {
  std::size_t count = 0;
  for (const auto& [key, trace] : traces)
    for (const Conversation& round : trace.rounds) count += round.turns.size();
  return count;
}

TEST(Resume, FromEveryPointWithTheSameEndAndNoAnswerAskedForTwice) {
  FakeLog whole;
  World first(whole);
  prepare(first);
  ASSERT_TRUE(first.run(3));
  ASSERT_GT(whole.after.size(), 15U);
  for (std::size_t at = 0; at < whole.after.size(); ++at) {
    FakeLog log;
    log.traces = whole.after[at];
    std::size_t answers = answers_in(log.traces);
    World second(log);
    prepare(second);
    ASSERT_TRUE(second.run(3));
    EXPECT_EQ(summary(log.traces), summary(whole.traces))
        << "killed after write " << at << ", " << whole.calls[at];
    EXPECT_EQ(second.chat.requests.size(), first.chat.requests.size() - answers) << at;
    EXPECT_EQ(second.ended.size(), 3U);
  }
}

TEST(Resume, WhatHadEndedIsOnlyToldOf) {
  FakeLog log;
  World first(log);
  ASSERT_TRUE(first.run(3));
  World second(log);
  ASSERT_TRUE(second.run(3));
  EXPECT_TRUE(second.chat.requests.empty());
  EXPECT_EQ(second.resumed.size(), 3U);
}

TEST(Resume, ThePromptIsTheStoredOne) {
  FakeLog log;
  World first(log);
  first.settings.system_prompt = "old";
  first.stop.request("interrupted");
  first.chat.script = [](const llm::ChatRequest&) { return FakeChat::fails(llm::ChatFault::stopped); };
  World begun(log);
  begun.settings.system_prompt = "old";
  begun.chat.script = [&](const llm::ChatRequest&) {
    begun.stop.request("interrupted");
    return FakeChat::fails(llm::ChatFault::stopped);
  };
  ASSERT_TRUE(begun.run(1));
  World second(log);
  second.settings.system_prompt = "new";
  ASSERT_TRUE(second.run(1));
  EXPECT_EQ(second.chat.requests.at(0).messages.at(0).content, "old");
}

TEST(Resume, AfterGenerationFailedTheModelIsAskedAgain) {
  FakeLog log;
  World first(log);
  first.chat.script = [](const llm::ChatRequest& request) {
    return request.id.starts_with("t0000") ? FakeChat::fails(llm::ChatFault::server_error)
                                           : FakeChat::says("fast");
  };
  ASSERT_TRUE(first.run(2));
  World second(log);
  ASSERT_TRUE(second.run(2));
  EXPECT_EQ(second.chat.requests.size(), 1U);
  EXPECT_EQ(second.trace("t0000").rounds.at(0).stop_reason, StopReason::success_fast);
}

TEST(Resume, AfterVerifierUnavailableTheLastAnswerIsJudgedAgain) {
  FakeLog log;
  World first(log);
  first.chat.script = [](const llm::ChatRequest&) { return FakeChat::says("infra"); };
  ASSERT_TRUE(first.run(1));
  EXPECT_EQ(first.trace("t0000").rounds.at(0).stop_reason, StopReason::verifier_unavailable);
  World second(log);
  ASSERT_TRUE(second.run(1));
  EXPECT_TRUE(second.chat.requests.empty());
  EXPECT_EQ(second.verifier.jobs.size(), 1U);
}

TEST(Resume, AnEmptyLastAnswerIsAskedForAgain) {
  Trace trace;
  trace.rounds.resize(1);
  trace.rounds[0].turns.resize(2);
  trace.rounds[0].turns[0].completion = "code";
  trace.rounds[0].turns[0].verdict.emplace();
  trace.rounds[0].turns[0].feedback = "no";
  trace.rounds[0].stop_reason = StopReason::generation_failed;
  EXPECT_EQ(refine::take_up(trace, {}), refine::Phase::ask);
  EXPECT_EQ(trace.rounds[0].turns.size(), 1U);
}

}  // namespace
}  // namespace kw::test
