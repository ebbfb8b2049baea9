// Many conversations at once: bounds, no barrier, stopping.
#include <gtest/gtest.h>

#include "world.h"

namespace kw::test {
namespace {

TEST(Flow, RequestsInFlightAreBounded) {
  FakeLog log;
  World world(log);
  world.settings.requests_in_flight = 7;
  world.chat.time = [](const llm::ChatRequest&) { return 2ms; };
  ASSERT_TRUE(world.run(60));
  EXPECT_EQ(world.chat.most, 7U);
  EXPECT_EQ(world.ended.size(), 60U);
}

TEST(Flow, VerificationsAreBoundedByTheVerifier) {
  FakeLog log;
  World world(log);
  world.settings.requests_in_flight = 20;
  world.verifier.wide = 3;
  world.verifier.time = [](const Job&) { return 2ms; };
  ASSERT_TRUE(world.run(40));
  EXPECT_EQ(world.verifier.most, 3U);
}

TEST(Flow, AConversationInVerificationHoldsNoRequest) {
  FakeLog log;
  World world(log);
  world.settings.requests_in_flight = 1;
  world.verifier.wide = 4;
  world.verifier.time = [](const Job&) { return 20ms; };
  ASSERT_TRUE(world.run(8));
  EXPECT_EQ(world.verifier.most, 4U);
}

TEST(Flow, TasksAreReadNoFasterThanTheyAreDone) {
  FakeLog log;
  World world(log);
  world.settings.requests_in_flight = 4;
  world.verifier.wide = 1;
  world.verifier.time = [](const Job&) { return 1ms; };
  Tasks source(names(100));
  std::size_t most_ahead = 0;
  world.chat.script = [&](const llm::ChatRequest&) {
    most_ahead = std::max(most_ahead, source.read - world.ended.size());
    return FakeChat::says("fast");
  };
  ASSERT_TRUE(world.run(source));
  EXPECT_LE(most_ahead, 4U + 2U + 4U);
}

TEST(Flow, ASlowConversationHoldsNobodyUp) {
  FakeLog log;
  World world(log);
  world.settings.requests_in_flight = 4;
  world.chat.time = [](const llm::ChatRequest& request) {
    return request.id.starts_with("t0000") ? 400ms : 1ms;
  };
  ASSERT_TRUE(world.run(101));
  EXPECT_EQ(world.ended.back(), "t0000");
}

TEST(Flow, WhatWasBegunGoesBeforeWhatIsNew) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.requests_in_flight = 1;
  world.settings.max_turns = 2;
  world.chat.script = [](const llm::ChatRequest&) { return FakeChat::says("wrong"); };
  world.chat.time = [](const llm::ChatRequest&) { return 2ms; };
  ASSERT_TRUE(world.run(20));
  // A conversation waits at most while one or two others are asked.
  std::map<std::string, std::size_t> began;
  for (std::size_t i = 0; i < world.chat.requests.size(); ++i) {
    std::string task = world.chat.requests[i].id.substr(0, 5);
    auto [entry, first] = began.try_emplace(task, i);
    if (!first) EXPECT_LE(i - entry->second, 3U) << task;
  }
}

// Known delays: 50 conversations of 4 to 1 turns, 8 requests in flight, 4 verifications. The result is the
// run's time divided by the minimum of any schedule.
double makespan_over_ideal() {
  FakeLog log;
  MultiTurn world(log);
  world.settings.requests_in_flight = 8;
  world.verifier.wide = 4;
  auto task = [](const std::string& id) { return std::stoul(id.substr(1, 4)); };
  auto turns = [](std::size_t number) { return 4 - number * 4 / 50; };
  auto request_ms = [](std::size_t number) { return 20 + number * 7 % 20; };
  world.chat.time = [&](const llm::ChatRequest& request) {
    return milliseconds(request_ms(task(request.id)));
  };
  world.verifier.time = [](const Job&) { return 5ms; };
  world.chat.script = [&](const llm::ChatRequest& request) {
    std::size_t turn = std::stoul(request.id.substr(request.id.rfind('/') + 1));
    return FakeChat::says(fmt::format("{} {}", turn == turns(task(request.id)) ? "fast" : "wrong", turn));
  };
  double requested_ms = 0;
  double longest_ms = 0;
  for (std::size_t number = 0; number < 50; ++number) {
    double own_ms = static_cast<double>(turns(number) * request_ms(number));
    requested_ms += own_ms;
    longest_ms = std::max(longest_ms, own_ms + 5.0 * static_cast<double>(turns(number)));
  }
  EXPECT_TRUE(world.run(50));
  EXPECT_EQ(world.ended.size(), 50U);
  return static_cast<double>(world.clock.now.count()) / std::max(longest_ms, requested_ms / 8);
}

TEST(Flow, TheMakespanIsNearTheIdeal) {
  double ratio = makespan_over_ideal();
  RecordProperty("makespan_over_ideal", std::to_string(ratio));
  EXPECT_LE(ratio, 1.1);
  EXPECT_GE(ratio, 1.0);
}

TEST(Stop, EndsTheRunAndKeepsWhatIsThere) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.requests_in_flight = 4;
  world.chat.script = [](const llm::ChatRequest&) { return FakeChat::says("wrong"); };
  world.chat.time = [&](const llm::ChatRequest&) {
    if (world.chat.requests.size() == 30) world.stop.request("interrupted");
    return 1ms;
  };
  world.verifier.time = [](const Job&) { return 2ms; };
  ASSERT_TRUE(world.run(1000));
  EXPECT_EQ(world.chat.requests.size(), 30U);
  EXPECT_EQ(world.chat.in_flight, 0U);
  EXPECT_EQ(world.verifier.in_flight, 0U);
}

TEST(Stop, AnAnswerThatIsNotJudgedStaysWithoutVerdict) {
  FakeLog log;
  World world(log);
  world.verifier.wide = 1;
  world.verifier.time = [&](const Job&) {
    world.stop.request("interrupted");
    return 1000ms;
  };
  ASSERT_TRUE(world.run(3));
  std::size_t unjudged = 0;
  for (const auto& [key, trace] : log.traces)
    if (!trace.rounds.empty() && !trace.rounds[0].turns.at(0).verdict) ++unjudged;
  EXPECT_EQ(unjudged, 3U);
  EXPECT_TRUE(world.ended.empty());
}

TEST(Stop, BeforeTheFirstTaskNothingIsRead) {
  FakeLog log;
  World world(log);
  world.stop.request("interrupted");
  Tasks source(names(3));
  ASSERT_TRUE(world.run(source));
  EXPECT_EQ(source.read, 0U);
}

}  // namespace
}  // namespace kw::test
