#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <stdexcept>
#include <vector>

#include "base/async/loop.h"
#include "base/async/semaphore.h"

namespace kw::async {
namespace {

using namespace std::chrono_literals;

struct World {
  Loop loop;
  Semaphore semaphore{loop, 2};
  std::size_t most = 0;
  std::vector<int> order;

  Task<> work(int number, std::chrono::milliseconds takes) {
    auto place = co_await semaphore.take();
    if (!place) co_return;  // cancelled
    order.push_back(number);
    most = std::max(most, semaphore.taken());
    co_await sleep_until(Deadline::in(takes));
  }
};

TEST(Semaphore, GivesItsPlacesInTheOrderOfAsking) {
  World world;
  for (int i = 0; i < 6; ++i) spawn(world.loop, world.work(i, 1ms));
  world.loop.run();
  EXPECT_EQ(world.order, (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(world.most, 2U);
  EXPECT_EQ(world.semaphore.taken(), 0U);
}

TEST(Semaphore, TheLeastRankGoesFirst) {
  World world;
  auto first = world.semaphore.try_take();
  auto second = world.semaphore.try_take();
  world.semaphore.rank_by([](std::uint64_t ticket) { return ticket == 2 ? 0 : 1; }, 10);
  for (int i = 0; i < 4; ++i) spawn(world.loop, world.work(i, 1ms));
  world.loop.run_for(5ms);
  first->give_back();
  world.loop.restart();
  world.loop.run();
  EXPECT_EQ(world.order, (std::vector{2, 0, 1, 3}));
}

TEST(Semaphore, TheEarliestIsPassedOverAFewTimesOnly) {
  World world;
  auto first = world.semaphore.try_take();
  auto second = world.semaphore.try_take();
  world.semaphore.rank_by([](std::uint64_t ticket) { return -static_cast<int>(ticket); }, 2);
  for (int i = 0; i < 5; ++i) spawn(world.loop, world.work(i, 1ms));
  world.loop.run_for(5ms);
  first->give_back();
  world.loop.restart();
  world.loop.run();
  EXPECT_EQ(world.order, (std::vector{4, 3, 0, 2, 1}));
}

TEST(Semaphore, AnExceptionGivesThePlaceBack) {
  World world;
  auto breaks = [](World* in) -> Task<> {
    auto place = co_await in->semaphore.take();
    throw std::runtime_error("broken");
  };
  int broken = 0;
  for (int i = 0; i < 3; ++i)
    spawn(world.loop, breaks(&world), [&](const std::exception_ptr& thrown) { broken += thrown != nullptr; });
  spawn(world.loop, world.work(1, 0ms));
  world.loop.run();
  EXPECT_EQ(broken, 3);
  EXPECT_EQ(world.order, std::vector{1});
}

TEST(Semaphore, ACancelledWaitLeavesTheQueue) {
  World world;
  auto first = world.semaphore.try_take();
  auto second = world.semaphore.try_take();
  EXPECT_FALSE(world.semaphore.try_take());
  boost::asio::cancellation_signal cancel;
  boost::asio::co_spawn(world.loop, world.work(1, 0ms),
                        boost::asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr&) {}));
  spawn(world.loop, world.work(2, 0ms));
  world.loop.run_for(5ms);
  EXPECT_EQ(world.semaphore.waiting(), 2U);
  cancel.emit(boost::asio::cancellation_type::terminal);
  world.loop.restart();
  world.loop.run_for(5ms);
  EXPECT_EQ(world.semaphore.waiting(), 1U);
  first->give_back();
  world.loop.restart();
  world.loop.run_for(50ms);
  EXPECT_EQ(world.order, std::vector{2});
}

TEST(Semaphore, ACancelAfterTheGrantGivesThePlaceToTheNext) {
  World world;
  auto first = world.semaphore.try_take();
  auto second = world.semaphore.try_take();
  boost::asio::cancellation_signal cancel;
  boost::asio::co_spawn(world.loop, world.work(1, 0ms),
                        boost::asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr&) {}));
  spawn(world.loop, world.work(2, 0ms));
  world.loop.run_for(5ms);
  first->give_back();  // granted to 1, which is cancelled before it runs
  cancel.emit(boost::asio::cancellation_type::terminal);
  world.loop.restart();
  world.loop.run_for(50ms);
  EXPECT_EQ(world.order.back(), 2);
  EXPECT_EQ(world.semaphore.taken(), 1U);
}

TEST(Semaphore, AnEarlierTicketGoesFirst) {
  World world;
  auto earlier = world.semaphore.ticket();
  auto first = world.semaphore.try_take();
  auto second = world.semaphore.try_take();
  spawn(world.loop, world.work(1, 0ms));
  world.loop.run_for(5ms);
  spawn(world.loop, [](World* in, std::uint64_t with) -> Task<> {
    auto place = co_await in->semaphore.take(with);
    in->order.push_back(0);
  }(&world, earlier));
  world.loop.restart();
  world.loop.run_for(5ms);
  EXPECT_EQ(world.semaphore.waiting(), 2U);
  first->give_back();
  world.loop.restart();
  world.loop.run_for(50ms);
  EXPECT_EQ(world.order, (std::vector{0, 1}));
}

TEST(Semaphore, MorePlacesAdmitThoseWhoWait) {
  Loop loop;
  std::size_t places = 0;  // counts as one
  Semaphore semaphore(loop, [&] { return places; });
  auto first = semaphore.try_take();
  bool admitted = false;
  spawn(loop, [](Semaphore* of, bool* done) -> Task<> {
    auto place = co_await of->take();
    *done = true;
  }(&semaphore, &admitted));
  loop.run_for(5ms);
  EXPECT_FALSE(admitted);
  places = 2;
  semaphore.admit();
  loop.restart();
  loop.run_for(50ms);
  EXPECT_TRUE(admitted);
}

TEST(Semaphore, APlaceAndAWaitMayOutliveIt) {
  Semaphore::Place place;
  {
    Loop loop;
    auto semaphore = std::make_unique<Semaphore>(loop, 1);
    place = *semaphore->try_take();
    spawn(loop, [](Semaphore* of) -> Task<> { auto ours = co_await of->take(); }(semaphore.get()));
    loop.run_for(5ms);
    semaphore.reset();
  }
  EXPECT_TRUE(place);
}

TEST(Spawn, TellsWhatWasThrown) {
  Loop loop;
  auto breaks = []() -> Task<> {
    throw std::runtime_error("broken");
    co_return;
  };
  std::string told;
  spawn(loop, breaks(), [&](const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      told = error.what();
    }
  });
  loop.run();
  EXPECT_EQ(told, "broken");
  spawn(loop, breaks());
  loop.restart();
  EXPECT_THROW(loop.run(), std::runtime_error);
}

TEST(Spawn, IsCancelledThroughItsSlot) {
  Loop loop;
  boost::asio::cancellation_signal cancel;
  bool ended = false;
  spawn(loop, sleep_until(Deadline::in(1h)), cancel.slot(), [&](const std::exception_ptr&) { ended = true; });
  loop.run_for(5ms);
  EXPECT_FALSE(ended);
  cancel.emit(boost::asio::cancellation_type::terminal);
  loop.restart();
  loop.run_for(50ms);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace kw::async
