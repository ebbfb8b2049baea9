#include "loop/refine/conversations.h"

#include <gtest/gtest.h>

#include "world.h"

namespace kw::test {
namespace {

using refine::RequireSpeed;
using refine::Settings;

Settings multi_turn(RequireSpeed require_speed = RequireSpeed::auto_) {
  Settings settings;
  settings.multi_turn = true;
  settings.max_turns = 4;
  settings.require_speed = require_speed;
  return settings;
}

Turn turn_with(const std::string& words) {
  Job job;
  job.candidate.code = words;
  Turn turn;
  turn.completion = words;
  turn.verdict = verdict_on(job);
  return turn;
}

// After that many turns, of which the last has these words.
std::string after(std::size_t turns, const std::string& words, const Settings& settings = multi_turn()) {
  Conversation conversation;
  for (std::size_t i = 0; i < turns; ++i) conversation.turns.push_back(turn_with(words));
  auto reason = refine::stop_reason_after(conversation, settings);
  return reason ? std::string(to_string(*reason)) : "go on";
}

TEST(StopRule, SuccessIsTestedBeforeTheCap) {
  EXPECT_EQ(after(4, "fast"), "success_fast");
  EXPECT_EQ(after(4, "right"), "success_correct");
  EXPECT_EQ(after(4, "slow"), "max_turns_reached");
}
TEST(StopRule, SlowGoesOn) {
  EXPECT_EQ(after(1, "slow"), "go on");
}
TEST(StopRule, TheTargetIsReachedExactly) {
  Settings settings = multi_turn();
  settings.target_speedup = 2.0;
  EXPECT_EQ(after(1, "fast", settings), "success_fast");
  settings.target_speedup = 2.01;
  EXPECT_EQ(after(1, "fast", settings), "go on");
}
TEST(StopRule, WithoutSpeedRightIsEnoughUnlessSpeedIsRequired) {
  EXPECT_EQ(after(1, "right"), "success_correct");
  EXPECT_EQ(after(1, "right", multi_turn(RequireSpeed::always)), "go on");
  EXPECT_EQ(after(4, "right", multi_turn(RequireSpeed::always)), "max_turns_reached");
}
TEST(StopRule, ASpeedThatIsNotBelievedIsNotMeasured) {
  Settings settings = multi_turn();
  EXPECT_EQ(after(1, "claimed slow", settings), "success_correct");
  settings.require_speed = RequireSpeed::always;
  EXPECT_EQ(after(1, "claimed fast", settings), "go on");
  settings.min_trust = Trust::in_process;
  EXPECT_EQ(after(1, "claimed fast", settings), "success_fast");
}
TEST(StopRule, WhatDoesNotCountIsNoSuccess) {
  EXPECT_EQ(after(1, "library fast"), "go on");
  EXPECT_EQ(after(4, "library fast"), "max_turns_reached");
}
TEST(StopRule, WhereNothingCanCountNothingIsTriedAgain) {
  EXPECT_EQ(after(1, "zero fast"), "task_invalid");
}
TEST(StopRule, WrongAndBrokenGoOnToTheCap) {
  EXPECT_EQ(after(3, "wrong"), "go on");
  EXPECT_EQ(after(4, "wrong"), "max_turns_reached");
  EXPECT_EQ(after(3, "broken"), "go on");
}
TEST(StopRule, FaultsOfOthersEndIt) {
  EXPECT_EQ(after(1, "invalid"), "task_invalid");
  EXPECT_EQ(after(1, "infra"), "verifier_unavailable");
  EXPECT_EQ(after(1, "unsupported"), "verifier_unavailable");
}
TEST(StopRule, WrongAtReducedShapesIsWorthATurn) {
  EXPECT_EQ(after(1, "reduced"), "go on");
  EXPECT_EQ(after(4, "reduced"), "max_turns_reached");
}
TEST(StopRule, OneTurnUnlessThereAreMany) {
  EXPECT_EQ(after(1, "wrong", Settings{}), "max_turns_reached");
}
TEST(StopRule, AnEmptyLastAnswerIsNoTurnThatCounts) {
  Conversation conversation;
  conversation.turns = {turn_with("wrong")};
  conversation.turns[0].completion = " \n";
  EXPECT_EQ(refine::stop_reason_after(conversation, Settings{}), StopReason::generation_failed);
}
TEST(StopRule, WithoutAVerdictThereIsNothingToSay) {
  Conversation conversation;
  conversation.turns.resize(1);
  EXPECT_EQ(refine::stop_reason_after(conversation, Settings{}), std::nullopt);
}

Trace ended(std::size_t rounds, StopReason reason, const std::string& words) {
  Trace trace;
  trace.rounds.resize(rounds);
  for (Conversation& round : trace.rounds) {
    round.turns.push_back(turn_with(words));
    round.stop_reason = reason;
  }
  return trace;
}

TEST(Retry, OnceWhereAllWasWrong) {
  EXPECT_TRUE(refine::deserves_retry(ended(1, StopReason::max_turns_reached, "wrong"), multi_turn()));
  EXPECT_TRUE(refine::deserves_retry(ended(1, StopReason::max_turns_reached, "library"), multi_turn()));
  EXPECT_FALSE(refine::deserves_retry(ended(2, StopReason::max_turns_reached, "wrong"), multi_turn()));
}
TEST(Retry, NotWhereSomethingWasRight) {
  EXPECT_FALSE(refine::deserves_retry(ended(1, StopReason::max_turns_reached, "slow"), multi_turn()));
}
TEST(Retry, NotWhereAnotherWouldFareNoBetter) {
  EXPECT_FALSE(refine::deserves_retry(ended(1, StopReason::task_invalid, "invalid"), multi_turn()));
  EXPECT_FALSE(refine::deserves_retry(ended(1, StopReason::verifier_unavailable, "infra"), multi_turn()));
}
TEST(Retry, NotWithSingleTurnsNorWhereItIsOff) {
  EXPECT_FALSE(refine::deserves_retry(ended(1, StopReason::max_turns_reached, "wrong"), Settings{}));
  Settings off = multi_turn();
  off.retry_failed = false;
  EXPECT_FALSE(refine::deserves_retry(ended(1, StopReason::max_turns_reached, "wrong"), off));
}

TEST(TurnQueue, WhatGoesOnComesFirst) {
  refine::TurnQueue queue;
  auto open = [](const char* name) {
    auto made = std::make_shared<refine::OpenTrace>();
    made->key.task_id = name;
    return made;
  };
  queue.add(open("new"));
  queue.add(open("newer"));
  queue.requeue(open("going on"));
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue.pop()->key.task_id, "going on");
  EXPECT_EQ(queue.pop()->key.task_id, "new");
  EXPECT_EQ(queue.pop()->key.task_id, "newer");
  EXPECT_EQ(queue.pop(), nullptr);
}

}  // namespace
}  // namespace kw::test
