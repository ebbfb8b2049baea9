// What neighbours do to a job: they fill the device, or end because they do; and which of its tries count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>

#include "base/async/wait.h"
#include "support/run_task.h"
#include "verdict_world.h"
#include "verify/judge/memory_guard.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using engine::Lost;
using ::testing::HasSubstr;
using wire::Body;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

React no_memory() {
  return fails("run", "out_of_memory", "CUDA out of memory");
}

// ---- verdicts in doubt

struct Moment {
  const char* role;
  Body message;
  int nth;
};

TEST(Neighbours, WhoFindsNoMemoryBesideThemIsJudgedAgain) {
  for (const Moment& each :
       {Moment{"runner", Body::Open, 1}, Moment{"runner", Body::Call, 3}, Moment{"oracle", Body::Judge, 3}}) {
    VerdictWorld world;
    world.fake.when(each.role, each.message, no_memory(), each.nth);
    world.run();
    EXPECT_THAT(world.result.doubt, HasSubstr("memory")) << each.role;
  }
}

TEST(Neighbours, AloneALackOfMemoryIsTheKernels) {
  VerdictWorld world;
  world.earlier.is_alone = true;
  world.fake.when("runner", Body::Call, no_memory(), 3);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::kernel);
  EXPECT_EQ(verdict.error_class, ErrorClass::out_of_memory);
  EXPECT_EQ(world.result.doubt, "");
}

TEST(Neighbours, WithoutAGpuARunnersMemoryIsItsOwn) {
  VerdictWorld world(Device::cpu);
  world.fake.when("runner", Body::Call, no_memory(), 2);
  EXPECT_EQ(world.run().error_class, ErrorClass::out_of_memory);
  EXPECT_EQ(world.result.doubt, "");
}

TEST(Neighbours, AWrongResultIsInNoDoubt) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, judges_wrong());
  EXPECT_EQ(world.run().status, Status::incorrect);
  EXPECT_EQ(world.result.doubt, "");
}

TEST(Neighbours, ARightKernelWhoseReplayFoundNoMemoryIsJudgedAgain) {
  VerdictWorld world;
  world.fake.when("replayer", Body::LoadRecording, no_memory());
  EXPECT_EQ(world.run().trust, Trust::in_process);
  EXPECT_THAT(world.result.doubt, HasSubstr("memory"));
}

TEST(Neighbours, AReferenceWhoseReplayFoundNoMemoryIsReplayedForTheNext) {
  VerdictWorld world;
  world.fake.when("replayer", Body::LoadRecording, no_memory(), 0);
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_THAT(world.result.doubt, HasSubstr("memory"));
  EXPECT_EQ(world.run().timing.instrument, "replay");
  EXPECT_EQ(world.result.doubt, "");
}

// ---- alone on the device

TEST(Alone, ATryWaitsForTheOthersAndEndsUnusedOracles) {
  VerdictWorld world;
  world.settings.timing_trials = 0;
  world.job.task.reference_code = "another";
  world.run();
  world.job.task.reference_code = "own";
  world.earlier.is_alone = true;
  engine::Lease share = run_task(world.loop, world.leases.share());
  boost::asio::steady_timer release(world.loop, 200ms);
  release.async_wait([&](const auto&) {
    EXPECT_EQ(world.fake.count("runner", Body::Spawn), 2);  // of the reference and of the first candidate
    share.give_back();
  });
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_FALSE(world.leases.has_others({}));
  world.job.task.reference_code = "another";
  world.run();
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 3);
}

TEST(Alone, AnOracleThatDoesNotStartBesideOthersStartsAfterThem) {
  VerdictWorld world;
  world.earlier.is_alone = true;
  world.fake.when("oracle", Body::Forget, no_memory(), 0);
  EXPECT_EQ(world.run().status, Status::correct);
}

TEST(Alone, AStoppedTryDoesNotWaitForTheOthers) {
  VerdictWorld world;
  world.earlier.is_alone = true;
  engine::Lease share = run_task(world.loop, world.leases.share());
  boost::asio::steady_timer leave(world.loop, 50ms);
  leave.async_wait([&](const auto&) { world.job_stop.request("the client left"); });
  world.run();
  EXPECT_TRUE(world.stopped);
}

// ---- which tries count

TEST(Tries, FollowAFaultOfTheInfrastructureTwice) {
  Tries tries;
  const Tries::Result ours{.fault = Fault::infrastructure, .lost_its_oracle = true};
  EXPECT_TRUE(tries.goes_on_after(ours));
  EXPECT_TRUE(tries.goes_on_after(ours));
  EXPECT_EQ(tries.earlier().oracles_lost, 2);
  EXPECT_FALSE(tries.goes_on_after(ours));
}

TEST(Tries, EndWithAnyOtherResult) {
  for (std::optional<Fault> fault :
       {std::optional<Fault>(), std::optional(Fault::kernel), std::optional(Fault::task)})
    EXPECT_FALSE(Tries().goes_on_after({.fault = fault}));
}

TEST(Tries, AResultInDoubtIsFollowedByOneAloneThatDecides) {
  Tries tries;
  const Tries::Result doubtful{
      .fault = Fault::kernel, .lost_its_oracle = true, .doubt = "the device was full"};
  EXPECT_TRUE(tries.goes_on_after(doubtful));
  EXPECT_TRUE(tries.earlier().is_alone);
  EXPECT_EQ(tries.earlier().oracles_lost, 0);
  EXPECT_FALSE(tries.goes_on_after(doubtful));
  EXPECT_EQ(tries.doubt(), "the device was full");
}

// ---- the guard of the device's memory

struct FakeMemory : DeviceMemoryReader {
  struct State {
    DeviceMemory now{.total_bytes = 80 * gib, .free_bytes = 60 * gib};
    std::vector<ProcessMemory> listed;
    int low_looks = 0;  // after which memory is free again; 0: it stays as it is
  };
  explicit FakeMemory(State& of) : state(of) {}
  std::optional<DeviceMemory> memory() override {
    const DeviceMemory answer = state.now;
    if (state.low_looks > 0 && --state.low_looks == 0) state.now.free_bytes = 60 * gib;
    return answer;
  }
  std::vector<ProcessMemory> processes() override { return state.listed; }
  State& state;
};

// Eight jobs may share the device.
struct GuardedWorld : VerdictWorld {
  GuardedWorld() {
    start_servers();
    fake.when("runner", Body::Call, ends(Ending::hangs));
  }
  ~GuardedWorld() { guard.reset(); }

  std::unique_ptr<engine::Worker> runner() {
    return std::move(*run_task(loop, servers.cuda->spawn({}, async::Deadline::in(5s))));
  }
  // While the guard looks three times.
  void wait() {
    run_task(loop, []() -> async::Task<bool> {
      co_await async::sleep_until(async::Deadline::in(600ms));
      co_return true;
    }());
  }
  // Why a runner ended; none if it lives.
  static std::optional<Lost::Why> why_ended(async::Loop& loop, engine::Worker& worker) {
    auto reply = run_task(loop, worker.ask(wire::encode(wire::CallT()), {}, async::Deadline::in(100ms)));
    if (reply || reply.error().why == Lost::Why::deadline) return std::nullopt;
    return reply.error().why;
  }

  FakeMemory::State memory;
  std::unique_ptr<MemoryGuard> guard =
      std::make_unique<MemoryGuard>(loop, std::make_unique<FakeMemory>(memory), oracles, 8);
};

TEST(MemoryGuard, EndsUnusedOraclesFirst) {
  GuardedWorld world;
  run_task(world.loop, [](engine::OraclePool* from) -> async::Task<bool> {
    co_await from->give_back(std::move(*co_await from->take("text", "task", 5s)));
    co_return true;
  }(&world.oracles));
  auto runner = world.runner();
  auto watched = world.guard->watch(*runner, false);
  world.memory.now.free_bytes = gib / 2;
  world.memory.low_looks = 1;
  world.memory.listed = {{runner->init(), 40 * gib}};
  world.wait();
  EXPECT_EQ(world.fake.living(), 1);
  EXPECT_TRUE(runner->alive());
}

TEST(MemoryGuard, EndsTheRunnerThatHoldsMostOfAFullDevice) {
  GuardedWorld world;
  auto small = world.runner();
  auto large = world.runner();
  auto first = world.guard->watch(*small, false);
  auto second = world.guard->watch(*large, false);
  world.memory.now.free_bytes = gib / 2;
  world.memory.listed = {{small->init(), 12 * gib}, {large->init(), 40 * gib}, {1, 60 * gib}};
  world.wait();
  EXPECT_EQ(world.why_ended(world.loop, *large), Lost::Why::evicted);
  EXPECT_EQ(world.why_ended(world.loop, *small), std::nullopt);
}

TEST(MemoryGuard, EndsNoRunnerWithinItsShareOfTheDevice) {
  GuardedWorld world;
  auto runner = world.runner();
  auto watched = world.guard->watch(*runner, false);
  world.memory.now.free_bytes = gib / 2;
  world.memory.listed = {{runner->init(), 6 * gib}};
  world.wait();
  EXPECT_EQ(world.why_ended(world.loop, *runner), std::nullopt);
}

TEST(MemoryGuard, EndsNobodyWhileThereIsMemory) {
  GuardedWorld world;
  auto runner = world.runner();
  auto watched = world.guard->watch(*runner, false);
  world.memory.now.free_bytes = 10 * gib;
  world.memory.listed = {{runner->init(), 50 * gib}};
  world.wait();
  EXPECT_EQ(world.why_ended(world.loop, *runner), std::nullopt);
}

TEST(MemoryGuard, WithoutAListEndsThoseSinceWhoseStartMemoryHasGone) {
  GuardedWorld world;
  auto early = world.runner();
  auto late = world.runner();
  auto first = world.guard->watch(*early, false);
  world.memory.now.free_bytes = gib / 2;
  auto second = world.guard->watch(*late, false);
  world.wait();
  EXPECT_EQ(world.why_ended(world.loop, *early), Lost::Why::evicted);
  EXPECT_EQ(world.why_ended(world.loop, *late), std::nullopt);
}

TEST(MemoryGuard, AloneARunnerMayTakeNearlyAllThatWasFree) {
  for (auto [bytes, why] : {std::pair{50 * gib, std::optional<Lost::Why>()},
                            {55 * gib, std::optional(Lost::Why::over_device_memory)}}) {
    GuardedWorld world;
    auto runner = world.runner();
    auto watched = world.guard->watch(*runner, true);
    world.memory.now.free_bytes = 60 * gib - bytes;
    world.memory.listed = {{runner->init(), bytes}};
    world.wait();
    EXPECT_EQ(world.why_ended(world.loop, *runner), why);
  }
}

TEST(MemoryGuard, AForeignProcessOfTheSameNumberCondemnsNobody) {
  GuardedWorld world;
  auto runner = world.runner();
  auto watched = world.guard->watch(*runner, true);
  world.memory.listed = {{runner->init(), 70 * gib}};
  world.wait();
  EXPECT_EQ(world.why_ended(world.loop, *runner), std::nullopt);
}

TEST(MemoryGuard, ForgetsARunnerThatIsNoLongerWatched) {
  GuardedWorld world;
  auto runner = world.runner();
  world.guard->watch(*runner, true);
  world.memory.now.free_bytes = 0;
  world.memory.listed = {{runner->init(), 60 * gib}};
  world.wait();
  EXPECT_EQ(world.why_ended(world.loop, *runner), std::nullopt);
}

TEST(MemoryGuard, AnEvictedCandidateIsRightAlone) {
  VerdictWorld world;
  world.settings.timeout = 2s;  // a killed worker of the fake engine keeps its channel until then
  FakeMemory::State memory;
  MemoryGuard guard(world.loop, std::make_unique<FakeMemory>(memory), world.oracles, 8);
  world.context.memory_guard = &guard;
  world.fake.when(
      "runner", Body::Call,
      [&](const auto&, Reaction& usual) {
        usual.ending = Ending::hangs;
        memory.now.free_bytes = gib / 2;
      },
      2);
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
  EXPECT_THAT(world.result.doubt, HasSubstr("little memory left"));
  memory.now.free_bytes = 60 * gib;
  world.earlier.is_alone = true;
  EXPECT_EQ(world.run().status, Status::correct);
  world.context.memory_guard = nullptr;
}

}  // namespace
}  // namespace kw::verify
