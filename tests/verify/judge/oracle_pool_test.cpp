// Which job gets which oracle, and how long it waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/async/wait.h"
#include "support/run_task.h"
#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using wire::Body;

TEST(OraclePool, WhoGaveUpWaitingIsNotGivenAnOracle) {
  VerdictWorld world;
  world.start_servers();
  engine::OraclePool pool(world.loop, world.servers.oracle, {.size = 1, .limits = {}});
  auto taken = run_task(world.loop, [](async::Loop* loop, engine::OraclePool* from) -> async::Task<bool> {
    auto first = co_await from->take("text", "task", 5s);
    (void)co_await async::within(async::Deadline::in(5ms), nullptr, from->take("text", "task", 5s));
    boost::asio::co_spawn(
        *loop,
        [](auto* pool_of, auto held) -> async::Task<> {
          co_await async::sleep_until(async::Deadline::in(20ms));
          co_await pool_of->give_back(std::move(held));
        }(from, std::move(*first)),
        boost::asio::detached);
    auto again = co_await async::within(async::Deadline::in(1s), nullptr, from->take("text", "task", 5s));
    co_return again.value&& again.value->has_value();
  }(&world.loop, &pool));
  EXPECT_TRUE(taken);
}

// A start has a time limit; the wait for a place behind long verdicts has none.
TEST(OraclePool, WhoWaitsLongForAPlaceHasTheWholeTimeToStart) {
  VerdictWorld world;
  world.start_servers();
  engine::OraclePool pool(world.loop, world.servers.oracle, {.size = 1, .limits = {}});
  auto taken = run_task(world.loop, [](async::Loop* loop, engine::OraclePool* from) -> async::Task<bool> {
    auto first = co_await from->take("one", "one", 5s);
    boost::asio::co_spawn(
        *loop,
        [](auto* pool_of, auto held) -> async::Task<> {
          co_await async::sleep_until(async::Deadline::in(700ms));
          co_await pool_of->give_back(std::move(held));
        }(from, std::move(*first)),
        boost::asio::detached);
    auto second = co_await from->take("two", "two", 600ms);
    co_return second.has_value();
  }(&world.loop, &pool));
  EXPECT_TRUE(taken);
}

TEST(OraclePool, AnOracleThatIsNotGivenBackKeepsNoPlace) {
  VerdictWorld world;
  world.start_servers();
  engine::OraclePool pool(world.loop, world.servers.oracle, {.size = 1, .limits = {}});
  auto taken = run_task(world.loop, [](engine::OraclePool* from) -> async::Task<bool> {
    (void)co_await from->take("text", "task", 5s);  // the taker threw
    auto again = co_await async::within(async::Deadline::in(2s), nullptr, from->take("text", "task", 5s));
    co_return again.value&& again.value->has_value();
  }(&pool));
  EXPECT_TRUE(taken);
}

// An oracle's process belongs to the reference that ran in it.
TEST(OraclePool, AnotherReferenceGetsAProcessOfItsOwn) {
  for (Device device : {Device::cpu, Device::cuda}) {
    VerdictWorld world(device);
    for (const char* reference : {"one", "two", "three", "two"}) {
      world.job.task.reference_code = reference;
      EXPECT_EQ(world.run().status, Status::correct);
    }
    EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 3);  // two places; "one" has ended, "two" waited
  }
}

TEST(OraclePool, KeepsUnusedProcessesForTheirReferences) {
  for (auto [has_room, spawned] : {std::pair(false, 4), {true, 3}}) {
    VerdictWorld world;
    world.start_servers();
    engine::OraclePool pool(world.loop, world.servers.oracle,
                            {.size = 1, .has_room = [has_room] { return has_room; }, .limits = {}});
    run_task(world.loop, [](engine::OraclePool* from) -> async::Task<bool> {
      for (const char* text : {"one", "two", "three", "one"})
        co_await from->give_back(std::move(*co_await from->take(text, text, 5s)));
      co_await from->end();
      co_return true;
    }(&pool));
    EXPECT_EQ(world.fake.count("oracle", Body::Spawn), spawned) << has_room;
  }
}

// Jobs that take an oracle for a while, in the order of `texts`; returns the order in which they got one.
std::vector<std::string> served(VerdictWorld& world, engine::OraclePool& pool,
                                std::vector<std::string> texts) {
  std::vector<std::string> order;
  auto job = [](engine::OraclePool* from, std::string text, std::vector<std::string>* to) -> async::Task<> {
    auto taken = co_await from->take(text, text, 5s);
    to->push_back(text);
    co_await async::sleep_until(async::Deadline::in(5ms));
    co_await from->give_back(std::move(*taken));
  };
  for (std::string& text : texts) async::spawn(world.loop, job(&pool, std::move(text), &order));
  world.loop.restart();
  while (order.size() < texts.size() && world.loop.run_one_for(5s) > 0) {
  }
  run_task(world.loop, [](engine::OraclePool* from) -> async::Task<bool> {
    co_await async::sleep_until(async::Deadline::in(20ms));  // the last job returns its oracle
    co_await from->end();
    co_return true;
  }(&pool));
  return order;
}

TEST(OraclePool, ServesTheReferenceWhoseOracleIsUnusedFirst) {
  VerdictWorld world;
  world.start_servers();
  engine::OraclePool pool(world.loop, world.servers.oracle, {.size = 1, .limits = {}});
  EXPECT_EQ(served(world, pool, {"one", "two", "one", "two"}),
            (std::vector<std::string>{"one", "one", "two", "two"}));
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 2);
}

TEST(OraclePool, KeepsNoReferenceWaitingForLong) {
  VerdictWorld world;
  world.start_servers();
  engine::OraclePool pool(world.loop, world.servers.oracle, {.size = 1, .limits = {}});
  std::vector<std::string> texts{"one", "two"};
  texts.resize(10, "one");
  const std::vector<std::string> order = served(world, pool, texts);
  EXPECT_EQ(std::ranges::find(order, "two") - order.begin(), 5);  // four places after its turn
}

TEST(OraclePool, EndsTheSecondOracleOfAReferenceFirst) {
  VerdictWorld world;
  world.start_servers();
  engine::OraclePool pool(world.loop, world.servers.oracle, {.size = 2, .limits = {}});
  run_task(world.loop, [](engine::OraclePool* from) -> async::Task<bool> {
    const auto take = [from](const char* text) { return from->take(text, text, 5s); };
    auto one = co_await take("one");
    auto again = co_await take("one");
    co_await from->give_back(std::move(*one));
    co_await from->give_back(std::move(*again));
    co_await from->give_back(std::move(*co_await take("two")));
    co_await from->give_back(std::move(*co_await take("three")));
    co_await from->give_back(std::move(*co_await take("three")));
    co_await from->end();
    co_return true;
  }(&pool));
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 4);
}

TEST(OraclePool, AnswersBeforeAReferenceIsInIt) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Forget,
                  [&](const auto&, Reaction&) { EXPECT_EQ(world.fake.count("oracle", Body::Prepare), 0); });
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(world.fake.count("oracle", Body::Forget), 1);
}

TEST(OraclePool, KeepsProcessesReadyForOtherReferences) {
  VerdictWorld world;
  world.start_servers();
  engine::OraclePool pool(world.loop, world.servers.oracle, {.size = 2, .limits = {}, .spares = 1});
  run_task(world.loop, [](engine::OraclePool* from) -> async::Task<bool> {
    for (const char* text : {"one", "two"})
      co_await from->give_back(std::move(*co_await from->take(text, text, 5s)));
    co_await from->end();
    co_return true;
  }(&pool));
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 3);  // the first was forked on request
  EXPECT_EQ(world.fake.count("oracle", Body::Forget), 2);
}

TEST(OraclePool, OtherOptionsOfOneReferenceShareItsProcess) {
  VerdictWorld world(Device::cpu);
  for (bool tf32 : {false, true}) {
    world.settings.tf32 = tf32;
    world.run();
  }
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 1);
  EXPECT_EQ(world.fake.count("oracle", Body::Prepare), 2);
}

}  // namespace
}  // namespace kw::verify
