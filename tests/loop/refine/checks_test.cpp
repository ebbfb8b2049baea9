// Checks on threads beside the loop: thread, order, stop, exceptions; and runs of the loop with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/async/loop.h"
#include "loop/refine/checks.h"
#include "world.h"

namespace kw::test {
namespace {

using refine::Checks;
using refine::Precheck;

// The results of checks by the order in which they came, on one loop.
struct Desk {
  void begin(Checks& checks, std::string code) {
    async::spawn(loop, take(checks, std::move(code)), [this](const std::exception_ptr& thrown) {
      if (thrown) thrown_what.push_back(async::what_of(thrown));
    });
  }

  async::Task<> take(Checks& checks, std::string code) {
    taken.push_back(co_await checks.of(code, false, stop));
  }

  async::Loop loop;
  async::Stop stop{loop};
  std::vector<std::optional<Precheck>> taken;
  std::vector<std::string> thrown_what;
};

Precheck named(const std::string& name) {
  Precheck made;
  made.kernel_name = name;
  return made;
}

TEST(Checks, RunBesideTheLoop) {
  Desk desk;
  std::thread::id on;
  Checks checks(desk.loop, 1, [&](const std::string& code, bool) {
    on = std::this_thread::get_id();
    return named(code);
  });
  desk.begin(checks, "a");
  desk.loop.run();
  ASSERT_EQ(desk.taken.size(), 1U);
  EXPECT_EQ(desk.taken[0].value().kernel_name, "a");
  EXPECT_NE(on, std::this_thread::get_id());
}

TEST(Checks, TheLoopGoesOnDuringOne) {
  Desk desk;
  std::promise<void> seen;
  Checks checks(desk.loop, 1, [&](const std::string& code, bool) {
    seen.get_future().wait();
    return named(code);
  });
  desk.begin(checks, "a");
  async::spawn(desk.loop, [](std::promise<void>& told) -> async::Task<> {
    told.set_value();
    co_return;
  }(seen));
  desk.loop.run();
  EXPECT_EQ(desk.taken.size(), 1U);
}

TEST(Checks, BeginInTheOrderOfTheCalls) {
  Desk desk;
  std::vector<std::string> begun;
  Checks checks(desk.loop, 1, [&](const std::string& code, bool) {
    begun.push_back(code);
    return named(code);
  });
  std::vector<std::string> called;
  for (int number = 0; number < 20; ++number) {
    called.push_back(std::to_string(number));
    desk.begin(checks, called.back());
  }
  desk.loop.run();
  EXPECT_EQ(begun, called);
}

// With one thread at most two checks have a place: one runs, one is ready.
TEST(Checks, AStopDropsThoseThatWait) {
  Desk desk;
  std::promise<void> stopped;
  auto until_stopped = stopped.get_future().share();
  std::atomic<std::size_t> calls = 0;
  Checks checks(desk.loop, 1, [&](const std::string& code, bool) {
    if (++calls == 1)
      boost::asio::post(desk.loop, [&] {
        desk.stop.request("interrupted");
        stopped.set_value();
      });
    until_stopped.wait();
    return named(code);
  });
  for (int number = 0; number < 10; ++number) desk.begin(checks, std::to_string(number));
  desk.loop.run();
  EXPECT_EQ(desk.taken.size(), 10U);
  EXPECT_LE(calls, 2U);
  EXPECT_EQ(std::ranges::count(desk.taken, true, [](const auto& each) { return each.has_value(); }),
            static_cast<std::ptrdiff_t>(calls));
}

TEST(Checks, AnExceptionReachesTheCaller) {
  Desk desk;
  Checks checks(desk.loop, 1,
                [](const std::string&, bool) -> Precheck { throw std::runtime_error("no memory"); });
  desk.begin(checks, "a");
  desk.loop.run();
  EXPECT_EQ(desk.thrown_what, std::vector<std::string>{"no memory"});
}

TEST(Checks, WithoutThreadsTheLoopChecks) {
  Desk desk;
  std::thread::id on;
  Checks checks(desk.loop, 0, [&](const std::string& code, bool) {
    on = std::this_thread::get_id();
    return named(code);
  });
  desk.begin(checks, "a");
  desk.loop.run();
  EXPECT_EQ(on, std::this_thread::get_id());
}

// Two answers a task, the first one refused by its source.
FakeChat::Answer refused_first(const llm::ChatRequest& request) {
  if (!request.id.ends_with("/1")) return FakeChat::says("fast");
  auto said = FakeChat::says("fast");
  said->content = "<triton>\nimport ctypes\n</triton>";
  return said;
}

TEST(ChecksOfARun, JudgeEveryAnswerOnce) {
  FakeLog log;
  MultiTurn world(log);
  world.settings.check_threads = 3;
  world.settings.requests_in_flight = 64;
  world.chat.script = refused_first;
  ASSERT_TRUE(world.run(24));
  EXPECT_EQ(world.ended.size(), 24U);
  EXPECT_EQ(world.judged, 48U);
  EXPECT_EQ(world.verifier.jobs.size(), 24U);
  for (const auto& [key, trace] : log.traces) {
    const auto& turns = trace.rounds.at(0).turns;
    ASSERT_EQ(turns.size(), 2U) << key.task_id;
    EXPECT_EQ(turns[0].verdict->error_class, ErrorClass::forbidden) << key.task_id;
    EXPECT_EQ(turns[1].verdict->status, Status::correct) << key.task_id;
  }
}

TEST(ChecksOfARun, WhatAStopLeavesIsCheckedByTheNextRun) {
  FakeLog log;
  {
    World world(log);
    world.settings.check_threads = 2;
    world.settings.requests_in_flight = 64;
    world.chat.script = [&](const llm::ChatRequest&) {
      if (world.chat.requests.size() == 16) world.stop.request("interrupted");
      return FakeChat::says("wrong");
    };
    ASSERT_TRUE(world.run(24));
  }
  World next(log);
  next.settings.check_threads = 2;
  next.chat.script = [](const llm::ChatRequest&) { return FakeChat::says("wrong"); };
  ASSERT_TRUE(next.run(24));
  EXPECT_EQ(log.traces.size(), 24U);
  for (const auto& [key, trace] : log.traces) {
    ASSERT_EQ(trace.rounds.at(0).turns.size(), 1U) << key.task_id;
    EXPECT_TRUE(trace.rounds[0].turns[0].verdict) << key.task_id;
  }
}

}  // namespace
}  // namespace kw::test
