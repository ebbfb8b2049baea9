#include "verify/workers/device_leases.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <string>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "support/run_task.h"

namespace kw::engine {
namespace {

using namespace std::chrono_literals;

struct World {
  async::Loop loop;
  DeviceLeases leases{loop, 2};
  std::string order;
  int shared = 0;
  int most_shared = 0;
  bool alone = true;

  async::Task<> share(char name, std::chrono::milliseconds hold) {
    Lease lease = co_await leases.share();
    order += name;
    most_shared = std::max(most_shared, ++shared);
    co_await async::sleep_until(async::Deadline::in(hold));
    --shared;
  }
  async::Task<> all(char name, std::chrono::milliseconds hold) {
    Lease lease = co_await leases.all();
    order += name;
    alone = alone && shared == 0;
    co_await async::sleep_until(async::Deadline::in(hold));
    alone = alone && shared == 0;
  }
  void go(async::Task<> task) { boost::asio::co_spawn(loop, std::move(task), boost::asio::detached); }
};

TEST(DeviceLeases, GivesAsManySharesAsThereAre) {
  World world;
  for (char name : {'a', 'b', 'c', 'd'}) world.go(world.share(name, 2ms));
  world.loop.run();
  EXPECT_EQ(world.order, "abcd");
  EXPECT_EQ(world.most_shared, 2);
}

TEST(DeviceLeases, AllMeansAlone) {
  World world;
  world.go(world.share('a', 5ms));
  world.go(world.all('X', 5ms));
  world.go(world.share('b', 5ms));
  world.loop.run();
  EXPECT_TRUE(world.alone);
}

TEST(DeviceLeases, WhoWaitsForAllIsNotOvertakenByShares) {
  World world;
  world.go(world.share('a', 5ms));
  world.go(world.all('X', 1ms));
  world.go(world.share('b', 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "aXb");
}

TEST(DeviceLeases, OneDrainServesAllWhoWaitForAll) {
  World world;
  world.go(world.share('a', 5ms));
  world.go(world.all('X', 1ms));
  world.go(world.share('b', 1ms));
  world.go(world.all('Y', 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "aXYb");
}

TEST(DeviceLeases, AShareThatBecomesAllIsNotOvertaken) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    in->order += 'a';
    lease = co_await in->leases.all_instead_of(std::move(lease));
    in->order += 'A';
  }(&world));
  for (char name : {'b', 'c', 'd'}) world.go(world.share(name, 1ms));
  world.loop.run();
  EXPECT_LT(world.order.find('A'), world.order.find('c'));
}

TEST(DeviceLeases, OneShareAloneHasNoOthers) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    in->order += in->leases.has_others(lease) ? 'o' : '-';
    Lease second = co_await in->leases.share();
    in->order += in->leases.has_others(lease) ? 'o' : '-';
    second.give_back();
    in->order += in->leases.has_others(lease) ? 'o' : '-';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "-o-");
}

TEST(DeviceLeases, WhoWaitsForAllIsAnother) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    in->go(in->all('X', 1ms));
    co_await async::sleep_until(async::Deadline::in(1ms));
    in->order += in->leases.has_others(lease) ? 'o' : '-';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "oX");
}

// ---- several shares, for a task that needs much memory

struct WideWorld : World {
  WideWorld() { leases = DeviceLeases(loop, 4); }
  async::Task<> several(char name, std::size_t number, std::chrono::milliseconds hold) {
    Lease lease = co_await leases.share();
    if (!leases.widen(lease, number)) lease = co_await leases.several_instead_of(std::move(lease), number);
    order += name;
    most_held = std::max(most_held, held += lease.shares());
    co_await async::sleep_until(async::Deadline::in(hold));
    held -= lease.shares();
  }
  async::Task<> share_then_all(char name, std::chrono::milliseconds hold) {
    Lease lease = co_await leases.share();
    co_await async::sleep_until(async::Deadline::in(hold));
    lease = co_await leases.all_instead_of(std::move(lease));
    order += name;
  }
  std::size_t held = 0, most_held = 0;
};

TEST(SeveralShares, AreHeldBesideOthersWhileThereAreEnough) {
  WideWorld world;
  world.go(world.several('a', 2, 5ms));
  world.go(world.several('b', 2, 5ms));
  world.go(world.several('c', 3, 5ms));
  world.loop.run();
  EXPECT_EQ(world.order, "abc");
  EXPECT_EQ(world.most_held, 4U);
}

TEST(SeveralShares, AreAtMostAllOfThem) {
  WideWorld world;
  world.go(world.several('a', 99, 1ms));
  world.loop.run();
  EXPECT_EQ(world.most_held, 4U);
}

TEST(SeveralShares, LetSingleOnesPassThatAreFree) {
  WideWorld world;
  world.go(world.several('a', 3, 5ms));
  world.go(world.several('b', 3, 1ms));
  world.go(world.share('c', 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "acb");
}

TEST(SeveralShares, LetNoMorePassThanTheDeviceHas) {
  WideWorld world;
  world.go(world.several('a', 3, 10ms));
  world.go(world.several('b', 4, 1ms));
  for (char name : {'c', 'd', 'e', 'f', 'g', 'h'}) world.go(world.share(name, 3ms));
  world.loop.run();
  EXPECT_EQ(world.order, "acdefbgh");
}

// It keeps its memory while it waits.
TEST(SeveralShares, AreNotGivenBeforeAShareThatBecomesAll) {
  WideWorld world;
  world.go(world.several('a', 2, 10ms));
  world.go(world.share_then_all('X', 2ms));
  world.go(world.several('b', 4, 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "aXb");
}

TEST(SeveralShares, OfAHolderAloneAreAll) {
  WideWorld world;
  world.go([](WideWorld* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    EXPECT_TRUE(in->leases.widen(lease, 4));
    EXPECT_EQ(lease.shares(), in->leases.size());
    EXPECT_FALSE(in->leases.has_others(lease));
  }(&world));
  world.loop.run();
}

// ---- leases that step aside

struct YieldingWorld : WideWorld {
  // Uses the device in steps of 2 ms.
  async::Task<> yields(char name, int steps) {
    Lease lease = co_await leases.share();
    lease.set_yielding(true);
    for (int step = 0; step < steps; ++step) {
      lease = co_await leases.step_aside(std::move(lease));
      order += name;
      ++shared;
      co_await async::sleep_until(async::Deadline::in(2ms));
      --shared;
    }
  }
  async::Task<> timed(char name) {
    Lease lease = co_await leases.share();
    co_await async::sleep_until(async::Deadline::in(1ms));
    lease = co_await leases.all_instead_of(std::move(lease));
    order += name;
    alone = alone && shared == 0;
    co_await async::sleep_until(async::Deadline::in(5ms));
    alone = alone && shared == 0;
  }
};

TEST(StepAside, LetsAnotherHaveTheDeviceAlone) {
  YieldingWorld world;
  world.go(world.yields('a', 3));
  world.go(world.timed('X'));
  world.loop.run();
  EXPECT_EQ(world.order, "aXaa");
  EXPECT_TRUE(world.alone);
}

TEST(StepAside, LetsAllWhoWaitForTheDeviceAloneGoFirst) {
  YieldingWorld world;
  world.go(world.yields('a', 2));
  world.go(world.yields('b', 2));
  world.go(world.timed('X'));
  world.go(world.timed('Y'));
  world.loop.run();
  EXPECT_EQ(world.order, "abXYab");
  EXPECT_TRUE(world.alone);
}

TEST(StepAside, WaitsForNobodyWhileAnotherHolderDoesNotYield) {
  YieldingWorld world;
  world.go(world.yields('a', 3));
  world.go(world.share('b', 20ms));
  world.go(world.timed('X'));
  world.loop.run();
  EXPECT_EQ(world.order, "abaaX");
  EXPECT_TRUE(world.alone);
}

// Its holder needs the memory as well.
TEST(StepAside, IsNotForRequestsOfAllShares) {
  YieldingWorld world;
  world.go(world.yields('a', 3));
  world.go(world.all('X', 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "aaaX");
}

TEST(StepAside, ComesBackBeforeLaterShares) {
  YieldingWorld world;
  world.go(world.yields('a', 3));
  world.go(world.timed('X'));
  world.go([](YieldingWorld* in) -> async::Task<> {
    co_await async::sleep_until(async::Deadline::in(4ms));  // while X has the device
    for (char name : {'b', 'c', 'd', 'e'}) in->go(in->share(name, 20ms));
  }(&world));
  world.loop.run();
  EXPECT_TRUE(world.order.starts_with("aXa")) << world.order;
  EXPECT_TRUE(world.alone);
}

TEST(StepAside, ThatIsCancelledLeavesTheDeviceToOthers) {
  YieldingWorld world;
  world.go([](YieldingWorld* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    lease.set_yielding(true);
    co_await async::sleep_until(async::Deadline::in(3ms));
    auto waited =
        co_await async::within(async::Deadline::in(1ms), nullptr, in->leases.step_aside(std::move(lease)));
    EXPECT_FALSE(waited.value);
    in->order += 'x';
  }(&world));
  world.go(world.timed('X'));
  world.loop.run();
  world.loop.restart();
  world.go(world.all('Y', 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "XxY");
}

// The memory of one who waits for the device alone, or stepped aside, is none of the shares that are held.
TEST(SeveralShares, AreNotTakenBesideOneWhoWaitsForTheDeviceAlone) {
  YieldingWorld world;
  world.go([](YieldingWorld* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    co_await async::sleep_until(async::Deadline::in(3ms));
    in->order += in->leases.widen(lease, 2) ? 'w' : '-';
  }(&world));
  world.go(world.timed('X'));
  world.loop.run();
  EXPECT_EQ(world.order, "-X");
}

TEST(SeveralShares, LetOthersPassAnewAfterOneThatGaveUp) {
  WideWorld world;
  world.go(world.several('a', 3, 40ms));
  world.go([](WideWorld* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    (void)co_await async::within(async::Deadline::in(10ms), nullptr,
                                 in->leases.several_instead_of(std::move(lease), 4));
    in->go(in->several('X', 4, 1ms));
    co_await async::sleep_until(async::Deadline::in(2ms));
    in->go(in->share('g', 1ms));
  }(&world));
  for (char name : {'b', 'c', 'd', 'e'}) world.go(world.share(name, 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, "abcdegX");
}

// A waiter that gave up does not block others.
TEST(DeviceLeases, AWaitThatIsCancelledLeavesTheLine) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease first = co_await in->leases.share();
    auto waited = co_await async::within(async::Deadline::in(2ms), nullptr, in->leases.all());
    EXPECT_FALSE(waited.value);
    EXPECT_FALSE(in->leases.has_others(first));
    auto second = co_await async::within(async::Deadline::in(50ms), nullptr, in->leases.share());
    in->order += second.value ? 's' : '-';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "s");
}

TEST(DeviceLeases, WhoGivesUpWaitingForAllLetsSharesPass) {
  World world;
  world.go(world.share('a', 20ms));
  world.go([](World* in) -> async::Task<> {
    (void)co_await async::within(async::Deadline::in(2ms), nullptr, in->leases.all());
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

TEST(Lease, MayOutliveItsLeases) {
  async::Loop loop;
  Lease lease;
  {
    DeviceLeases leases(loop, 1);
    lease = test::run_task(loop, leases.share());
  }
  EXPECT_TRUE(lease);
  lease.give_back();
}

TEST(Lease, GivenBackTwiceCountsOnce) {
  World world;
  world.go([](World* in) -> async::Task<> {
    Lease lease = co_await in->leases.share();
    lease.give_back();
    lease.give_back();
    Lease all = co_await in->leases.all();
    in->order += 'X';
  }(&world));
  world.loop.run();
  EXPECT_EQ(world.order, "X");
}

}  // namespace
}  // namespace kw::engine
