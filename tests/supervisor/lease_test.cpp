#include "engine/lease.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string>

#include "async/loop.h"
#include "async/within.h"
#include "run_task.h"

namespace kw::engine {
namespace {

using namespace std::chrono_literals;

struct World {
  async::Loop loop;
  LeaseDesk desk{loop, 2};
  std::string order;
  int shared = 0;
  int most_shared = 0;
  bool alone = true;

  async::Task<> share(char name, std::chrono::milliseconds hold) {
    Lease lease = co_await desk.share();
    order += name;
    most_shared = std::max(most_shared, ++shared);
    co_await async::sleep_until(async::Deadline::in(hold));
    --shared;
  }
  async::Task<> all(char name, std::chrono::milliseconds hold) {
    Lease lease = co_await desk.all();
    order += name;
    alone = alone && shared == 0;
    co_await async::sleep_until(async::Deadline::in(hold));
    alone = alone && shared == 0;
  }
  void go(async::Task<> task) { boost::asio::co_spawn(loop, std::move(task), boost::asio::detached); }
};

TEST(LeaseDesk, GivesAsManySharesAsThereAre) {
  World world;
  for (char name : {'a', 'b', 'c', 'd'}) world.go(world.share(name, 2ms));
  world.loop.run();
  EXPECT_EQ(world.order, "abcd");
  EXPECT_EQ(world.most_shared, 2);
}

TEST(LeaseDesk, AllMeansAlone) {
  World world;
  world.go(world.share('a', 5ms));
  world.go(world.all('X', 5ms));
  world.go(world.share('b', 5ms));
  world.loop.run();
  EXPECT_TRUE(world.alone);
}

TEST(LeaseDesk, WhoWaitsForAllIsNotOvertakenByShares) {
  World world;
  world.go(world.share('a', 5ms));
  world.go(world.all('X', 1ms));
  world.go(world.share('b', 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "aXb");
}

TEST(LeaseDesk, OneDrainServesAllWhoWaitForAll) {
  World world;
  world.go(world.share('a', 5ms));
  world.go(world.all('X', 1ms));
  world.go(world.share('b', 1ms));
  world.go(world.all('Y', 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "aXYb");
}

TEST(LeaseDesk, AShareThatBecomesAllIsNotOvertaken) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->desk.share();
    in->order += 'a';
    lease = co_await in->desk.all_instead_of(std::move(lease));
    in->order += 'A';
  }(&world));
  for (char name : {'b', 'c', 'd'}) world.go(world.share(name, 1ms));
  world.loop.run();
  EXPECT_LT(world.order.find('A'), world.order.find('c'));
}

TEST(LeaseDesk, OneShareAloneHasNoOthers) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->desk.share();
    in->order += in->desk.has_others() ? 'o' : '-';
    Lease second = co_await in->desk.share();
    in->order += in->desk.has_others() ? 'o' : '-';
    second.give_back();
    in->order += in->desk.has_others() ? 'o' : '-';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "-o-");
}

TEST(LeaseDesk, WhoWaitsForAllIsAnother) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->desk.share();
    in->go(in->all('X', 1ms));
    co_await async::sleep_until(async::Deadline::in(1ms));
    in->order += in->desk.has_others() ? 'o' : '-';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "oX");
}

// Who gave up is in nobody's way.
TEST(LeaseDesk, AWaitThatIsCancelledLeavesTheLine) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease first = co_await in->desk.share();
    auto waited = co_await async::within(async::Deadline::in(2ms), nullptr, in->desk.all());
    EXPECT_FALSE(waited.value);
    EXPECT_FALSE(in->desk.has_others());
    auto second = co_await async::within(async::Deadline::in(50ms), nullptr, in->desk.share());
    in->order += second.value ? 's' : '-';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "s");
}

TEST(LeaseDesk, WhoGivesUpWaitingForAllLetsSharesPass) {
  World world;
  world.go(world.share('a', 20ms));
  world.go([](World* in) -> async::Task<> {
    (void)co_await async::within(async::Deadline::in(2ms), nullptr, in->desk.all());
    in->order += 'x';
  }(&world));
  world.go(world.share('b', 1ms));
  world.go([](World* in) -> async::Task<> {
    co_await async::sleep_until(async::Deadline::in(10ms));
    in->order += '.';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "abx.");
}

TEST(Lease, MayOutliveItsDesk) {
  async::Loop loop;
  Lease lease;
  {
    LeaseDesk desk(loop, 1);
    lease = test::run_task(loop, desk.share());
  }
  EXPECT_TRUE(lease);
  lease.give_back();
}

TEST(Lease, GivenBackTwiceCountsOnce) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->desk.share();
    lease.give_back();
    lease.give_back();
    Lease all = co_await in->desk.all();
    in->order += 'X';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "X");
}

}  // namespace
}  // namespace kw::engine
