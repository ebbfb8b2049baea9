// A run's effects on a trace, from the first request to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace kw::test {
namespace {

using refine::RequireSpeed;
using testing::ElementsAre;

// The model's answers to its first, second, ... request.
void say(FakeChat& chat, std::vector<std::string> words) {
  chat.script = [words = std::move(words), at = std::size_t{0}](const llm::ChatRequest&) mutable {
    return FakeChat::says(words.at(at++));
  };
}

TEST(Loop, OneAnswerATaskByDefault) {
  FakeLog log;
  World world(log);
  say(world.chat, {"wrong"});
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.trace("t0000").rounds.at(0).stop_reason, StopReason::max_turns_reached);
  EXPECT_EQ(world.chat.requests.size(), 1U);
}

TEST(Loop, AnswerThenVerdictThenFeedbackAreSavedInThisOrder) {
  FakeLog log;
  MultiTurn world(log);
  say(world.chat, {"wrong", "fast"});
  ASSERT_TRUE(world.run(1));
  EXPECT_THAT(log.calls,
              ElementsAre("begin", "answer", "verdict", "feedback", "answer", "verdict", "end success_fast"));
}

TEST(Loop, ReasoningIsInTheLogAndNotInMemory) {
  FakeLog log;
  MultiTurn world(log);
  world.chat.script = [](const llm::ChatRequest& request) {
    auto said = FakeChat::says(request.id.ends_with("/1") ? "wrong" : "fast");
    said->reasoning = "Because " + request.id;
    return said;
  };
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.judged, 2U);
  EXPECT_EQ(world.reasoning_bytes, 0U);
  for (const Turn& turn : world.trace("t0000").rounds.at(0).turns)
    EXPECT_EQ(turn.reasoning, fmt::format("Because t0000/0/0/{}", turn.turn));
}

TEST(Loop, TheSecondRequestHoldsTheFirstAnswerAndItsFeedback) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.system_prompt = "You write kernels.";
  say(world.chat, {"wrong", "fast"});
  ASSERT_TRUE(world.run(1));
  const auto& messages = world.chat.requests.at(1).messages;
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[0].content, "You write kernels.");
  EXPECT_EQ(messages[2].content, answer("wrong"));
  EXPECT_NE(messages[3].content.find("values differ"), std::string::npos);
}

TEST(Loop, WhereGradientsAreJudgedTheRequestAsksForThem) {
  for (bool gradients : {false, true}) {
    FakeLog log;
    World world(log);
    world.settings.gradients = gradients;
    say(world.chat, {"wrong"});
    ASSERT_TRUE(world.run(1));
    const std::string& asked = world.chat.requests.at(0).messages.back().content;
    EXPECT_EQ(asked.contains("`triton_kernel_backward` returns them"), gradients) << asked;
  }
}

TEST(Loop, ACapIsACap) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.max_turns = 3;
  say(world.chat, {"wrong", "broken", "wrong"});
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.trace("t0000").rounds.at(0).turns.size(), 3U);
  EXPECT_EQ(world.trace("t0000").rounds.at(0).stop_reason, StopReason::max_turns_reached);
  EXPECT_EQ(world.trace("t0000").rounds.at(0).turns.at(2).feedback, "");
}

TEST(Loop, AFailedTaskGoesRoundOnceMoreAfresh) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.retry_failed = true;
  world.settings.max_turns = 2;
  say(world.chat, {"wrong 1", "wrong 2", "wrong 3", "wrong 4"});
  ASSERT_TRUE(world.run(1));
  const Trace& trace = world.trace("t0000");
  ASSERT_EQ(trace.rounds.size(), 2U);
  EXPECT_EQ(world.chat.requests.at(2).messages.size(), 1U);
  EXPECT_EQ(trace.rounds[1].turns.at(0).verdict->id, "t0000#2.1");
  EXPECT_EQ(world.ended.size(), 1U);
}

TEST(Loop, ATaskThatWasRightOnceIsNoFailedTask) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.retry_failed = true;
  world.settings.max_turns = 2;
  say(world.chat, {"slow", "wrong"});
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.trace("t0000").rounds.size(), 1U);
}

TEST(Loop, EverySampleOfATaskIsATraceOfItsOwn) {
  FakeLog log;
  World world(log);
  world.settings.samples_per_task = 3;
  world.settings.sampling.seed = 100;
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(log.traces.size(), 3U);
  EXPECT_EQ(world.trace("t0000", 2).rounds.at(0).turns.at(0).verdict->id, "t0000~3#1");
  EXPECT_NE(world.chat.requests.at(0).sampling.seed, world.chat.requests.at(1).sampling.seed);
}

TEST(Loop, EqualCandidatesOfATaskAreJudgedOnceAndEachGetsItsRow) {
  FakeLog log;
  World world(log);
  world.settings.samples_per_task = 4;
  world.verifier.time = [](const Job&) { return 5ms; };
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.verifier.jobs.size(), 1U);
  EXPECT_EQ(world.judged, 4U);
  EXPECT_EQ(world.trace("t0000", 3).rounds.at(0).turns.at(0).verdict->sample_number, 3U);
}

TEST(Loop, AVerdictOfAnEarlierTurnIsTakenFromTheLog) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.max_turns = 3;
  say(world.chat, {"wrong", "wrong", "wrong"});
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.verifier.jobs.size(), 1U);
}

TEST(Loop, WhatIsCertainNeedsNoVerifier) {
  FakeLog log;
  World world(log);
  world.settings.program_version = "1.2.3";
  world.chat.script = [](const llm::ChatRequest&) {
    llm::ChatAnswer said;
    said.content = "I would rather not.";
    return FakeChat::Answer(said);
  };
  ASSERT_TRUE(world.run(1));
  EXPECT_TRUE(world.verifier.jobs.empty());
  const Verdict& verdict = *world.trace("t0000").rounds.at(0).turns.at(0).verdict;
  EXPECT_EQ(verdict.error_class, ErrorClass::missing_entry);
  EXPECT_EQ(verdict.environment.protocol, "p");
  EXPECT_EQ(verdict.environment.program_version, "1.2.3");
  EXPECT_EQ(verdict.candidate_sha256, candidate_sha256(""));
}

TEST(Loop, TheKernelIsNamed) {
  FakeLog log;
  World world(log);
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.trace("t0000").rounds.at(0).turns.at(0).verdict->kernel_name, "kernel");
}

TEST(Loop, ABadRowIsToldAndPassedOver) {
  FakeLog log;
  World world(log);
  Tasks source(names(3));
  source.bad = 1;
  ASSERT_TRUE(world.run(source));
  EXPECT_EQ(world.bad_tasks, 1U);
  EXPECT_EQ(world.ended.size(), 2U);
}

TEST(Loop, ABrokenSourceEndsTheRunAfterWhatIsOpen) {
  FakeLog log;
  World world(log);
  world.chat.time = [](const llm::ChatRequest&) { return 5ms; };
  Tasks source(names(3));
  source.breaks = 2;
  auto ended = world.run(source);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().what, "the source broke");
  EXPECT_EQ(world.ended.size(), 2U);
}

TEST(Loop, AStoreThatFailsEndsTheRunWithItsError) {
  for (std::size_t at = 0; at < 7; ++at) {
    FakeLog log;
    log.breaks = at;
    MultiTurn world(log);
    world.settings.requests_in_flight = 3;
    world.chat.time = [](const llm::ChatRequest&) { return 2ms; };
    world.chat.script = [](const llm::ChatRequest&) { return FakeChat::says("wrong"); };
    auto ended = world.run(20);
    ASSERT_FALSE(ended) << at;
    EXPECT_EQ(ended.error().what, "the disk is full");
    EXPECT_LT(world.chat.requests.size(), 10U);
  }
}

// ---- requests that fail ----

StopReason after_failure(llm::ChatFault fault) {
  FakeLog log;
  World world(log);
  world.chat.script = [&](const llm::ChatRequest& request) {
    return request.id.starts_with("t0000") ? FakeChat::fails(fault, "why") : FakeChat::says("fast");
  };
  EXPECT_TRUE(world.run(2));
  EXPECT_EQ(world.trace("t0001").rounds.at(0).stop_reason, StopReason::success_fast);
  return *world.trace("t0000").rounds.at(0).stop_reason;
}

TEST(Failures, EachHasItsReason) {
  EXPECT_EQ(after_failure(llm::ChatFault::context_overflow), StopReason::context_overflow);
  EXPECT_EQ(after_failure(llm::ChatFault::refused), StopReason::refused);
  EXPECT_EQ(after_failure(llm::ChatFault::server_error), StopReason::generation_failed);
  EXPECT_EQ(after_failure(llm::ChatFault::unreachable), StopReason::generation_failed);
  EXPECT_EQ(after_failure(llm::ChatFault::empty), StopReason::generation_failed);
}

TEST(Failures, AnOverflowKeepsTheTurnsBefore) {
  FakeLog log;
  MultiTurn world(log);
  world.chat.script = [](const llm::ChatRequest& request) {
    return request.id.ends_with("/1") ? FakeChat::says("slow")
                                      : FakeChat::fails(llm::ChatFault::context_overflow);
  };
  ASSERT_TRUE(world.run(1));
  EXPECT_EQ(world.trace("t0000").rounds.at(0).turns.size(), 1U);
  EXPECT_EQ(world.trace("t0000").rounds.at(0).stop_reason, StopReason::context_overflow);
}

TEST(Failures, AnEmptyAnswerIsATurnWithFeedback) {
  FakeLog log;
  MultiTurn world(log);
  world.chat.script = [](const llm::ChatRequest& request) {
    if (!request.id.ends_with("/1")) return FakeChat::says("fast");
    llm::ChatFailure failure{llm::ChatFault::empty, "all went into reasoning", "", {}, 1};
    failure.partial.reasoning = "hm";
    failure.partial.finish_reason = "length";
    return FakeChat::Answer(std::unexpected(failure));
  };
  ASSERT_TRUE(world.run(1));
  const Conversation& conversation = world.trace("t0000").rounds.at(0);
  ASSERT_EQ(conversation.turns.size(), 2U);
  EXPECT_EQ(conversation.turns[0].reasoning, "hm");
  EXPECT_NE(conversation.turns[0].feedback.find("be brief"), std::string::npos);
  EXPECT_FALSE(world.chat.requests.at(1).messages.at(1).content.empty());
  EXPECT_EQ(conversation.stop_reason, StopReason::success_fast);
}

TEST(Failures, AServerThatIsGoneEndsTheRun) {
  FakeLog log;
  World world(log);
  world.settings.requests_in_flight = 2;
  world.chat.script = [](const llm::ChatRequest&) {
    return FakeChat::fails(llm::ChatFault::unreachable, "connection refused");
  };
  auto ended = world.run(2500);
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().what.find("connection refused"), std::string::npos);
  EXPECT_LE(world.chat.requests.size(), 6U);
}

TEST(Failures, SoItDoesWhereThereAreFewTasks) {
  FakeLog log;
  World world(log);
  world.chat.script = [](const llm::ChatRequest&) {
    return FakeChat::fails(llm::ChatFault::unauthorised, "no key");
  };
  EXPECT_FALSE(world.run(2));
}

TEST(Failures, OneAnswerEndsTheStreak) {
  FakeLog log;
  World world(log);
  world.settings.requests_in_flight = 1;
  world.chat.script = [at = 0](const llm::ChatRequest&) mutable {
    return ++at % 5 == 0 ? FakeChat::says("fast") : FakeChat::fails(llm::ChatFault::unreachable);
  };
  EXPECT_TRUE(world.run(50));
  EXPECT_EQ(world.ended.size(), 50U);
}

TEST(Failures, AnExceptionOfTheClientIsAFailedRequest) {
  FakeLog log;
  World world(log);
  world.chat.script = [](const llm::ChatRequest& request) -> FakeChat::Answer {
    if (request.id.starts_with("t0000")) throw std::runtime_error("boom");
    return FakeChat::says("fast");
  };
  ASSERT_TRUE(world.run(2));
  EXPECT_EQ(world.trace("t0000").rounds.at(0).error, "malformed: boom");
}

}  // namespace
}  // namespace kw::test
