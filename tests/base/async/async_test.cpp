#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>

#include "base/async/wait.h"
#include "support/run_task.h"

namespace kw::async {
namespace {

using namespace std::chrono_literals;

Task<int> after(std::chrono::milliseconds wait, int value) {
  co_await sleep_until(Deadline::in(wait));
  co_return value;
}

TEST(Deadline, AChildsIsNeverLaterThanItsParents) {
  Deadline parent = Deadline::in(10ms);
  EXPECT_EQ(parent.or_in(1h).at, parent.at);
  EXPECT_LT(Deadline::in(1h).or_in(10ms).at, Deadline::in(1h).at);
}

TEST(Within, GivesTheValueOfWhatEndsInTime) {
  Loop loop;
  Stop stop(loop);
  auto waited = test::run_task(loop, within(Deadline::in(10s), &stop, after(1ms, 7)));
  EXPECT_EQ(waited.value, 7);
}

TEST(Within, EndsAtTheDeadline) {
  Loop loop;
  Stop stop(loop);
  auto start = SteadyClock::now();
  auto waited = test::run_task(loop, within(Deadline::in(20ms), &stop, after(1h, 7)));
  EXPECT_FALSE(waited.value);
  EXPECT_EQ(waited.ended, Ended::deadline);
  EXPECT_LT(ms_since(start), 5'000);
}

TEST(Within, ThrowsWhatTheOperationThrowsAtOnce) {
  Loop loop;
  auto began = SteadyClock::now();
  auto breaks = []() -> Task<int> {
    co_await sleep_until(Deadline::in(1ms));
    throw std::runtime_error("broken");
  };
  EXPECT_THROW(test::run_task(loop, within(Deadline::in(1s), nullptr, breaks())), std::runtime_error);
  EXPECT_LT(ms_since(began), 500);
}

TEST(Within, EndsWhenAStopIsRequested) {
  Loop loop;
  Stop stop(loop);
  boost::asio::co_spawn(
      loop,
      [](Stop* asked) -> Task<> {
        co_await sleep_until(Deadline::in(10ms));
        asked->request("Ctrl-C");
      }(&stop),
      boost::asio::detached);
  auto waited = test::run_task(loop, within(Deadline::never(), &stop, after(1h, 7)));
  EXPECT_EQ(waited.ended, Ended::stop);
  EXPECT_EQ(stop.cause(), "Ctrl-C");
}

TEST(Within, AStopThatCameBeforeEndsAtOnce) {
  Loop loop;
  Stop stop(loop);
  stop.request("earlier");
  auto waited = test::run_task(loop, within(Deadline::never(), &stop, after(1h, 7)));
  EXPECT_EQ(waited.ended, Ended::stop);
}

TEST(Stop, APartIsRequestedWithTheWhole) {
  Loop loop;
  Stop whole(loop);
  Stop part(loop, whole);
  whole.request("Ctrl-C");
  EXPECT_TRUE(part.requested());
  EXPECT_EQ(part.cause(), "Ctrl-C");
  EXPECT_TRUE(Stop(loop, whole).requested());
}

TEST(Stop, OfAPartLeavesTheWholeAlone) {
  Loop loop;
  Stop whole(loop);
  {
    Stop part(loop, whole);
    part.request("one job");
    EXPECT_FALSE(whole.requested());
  }
  whole.request("later");  // it no longer refers to the part
  EXPECT_TRUE(whole.requested());
}

TEST(Stop, TheFirstCauseStands) {
  Loop loop;
  Stop stop(loop);
  stop.request("first");
  stop.request("second");
  EXPECT_EQ(stop.cause(), "first");
}

TEST(Event, WakesAllWhoWait) {
  Loop loop;
  Event event(loop);
  int woken = 0;
  auto waiter = [](Event* on, int* count) -> Task<> {
    co_await on->wait();
    ++*count;
  };
  for (int i = 0; i < 3; ++i) boost::asio::co_spawn(loop, waiter(&event, &woken), boost::asio::detached);
  boost::asio::post(loop, [&] { event.set(); });
  loop.run();
  EXPECT_EQ(woken, 3);
}

}  // namespace
}  // namespace kw::async
