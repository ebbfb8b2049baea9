// Work that waits for the device or for its memory, and tasks that find none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>

#include "support/run_task.h"
#include "verdict_world.h"
#include "verify/judge/task_examination.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using ::testing::HasSubstr;
using wire::Body;

TEST(DeviceShare, AStoppedJobDoesNotWaitForTheDevice) {
  VerdictWorld world;
  engine::Lease all = run_task(world.loop, world.leases.all());
  boost::asio::steady_timer leave(world.loop, 50ms);
  leave.async_wait([&](const auto&) { world.job_stop.request("the client left"); });
  boost::asio::steady_timer release(world.loop, 5s);
  release.async_wait([&](const boost::system::error_code& cancelled) {
    if (!cancelled) all.give_back();
  });
  const auto began = async::SteadyClock::now();
  world.run();
  EXPECT_TRUE(world.stopped);
  EXPECT_LT(async::ms_since(began), 2000);
  release.cancel();
}

TEST(FullDevice, ATaskThatFindsNoMemoryIsPreparedAlone) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, fails("prepare", "out_of_memory", "CUDA out of memory"), 0);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_FALSE(verdict.error);
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 2);
}

TEST(FullDevice, ATaskThatFindsNoMemoryAloneEitherIsOurs) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, fails("prepare", "out_of_memory", "CUDA out of memory"));
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(FullDevice, AnotherOracleThatCannotBeStartedIsOurs) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, fails("prepare", "out_of_memory", "CUDA out of memory"), 0);
  world.fake.when("oracle", Body::Spawn, ends(Ending::closes), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_THAT(verdict.error.value_or(""), HasSubstr("the fork server lost a child"));
}

TEST(FullDevice, TheOracleOfABigTaskDoesNotOutliveIt) {
  VerdictWorld world;
  world.settings.timing_trials = 0;
  world.fake.spec.input_bytes = std::uint64_t{1} << 31;
  world.run();
  world.run();
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 2);
}

// A task of 2 GiB while another attempt holds one of the four shares of a device.
struct BigTaskBesideAnother : VerdictWorld {
  BigTaskBesideAnother() : other(run_task(loop, leases.share())), release(loop, 300ms) {
    settings.timing_trials = 0;
    fake.spec.input_bytes = std::uint64_t{1} << 31;
    release.async_wait([this](const auto&) {
      oracles_while_held = fake.count("oracle", Body::Spawn);
      runners_while_held = fake.count("runner", Body::Spawn);
      other.give_back();
    });
  }
  engine::Lease other;
  boost::asio::steady_timer release;
  int oracles_while_held = 0, runners_while_held = 0;
};

TEST(BigTask, RunsBesideOthersWhereItsMemoryIsFree) {
  BigTaskBesideAnother world;
  world.context.device_bytes = std::uint64_t{140} << 30;
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 1);
  EXPECT_TRUE(world.other);
}

TEST(BigTask, HoldsNoMemoryWhileItWaitsForIt) {
  BigTaskBesideAnother world;
  world.context.device_bytes = std::uint64_t{24} << 30;
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(world.oracles_while_held, 1);
  EXPECT_EQ(world.runners_while_held, 0);
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 2);
}

TEST(BigTask, IsPreparedOnceItsMemoryIsFree) {
  BigTaskBesideAnother world;
  world.context.device_bytes = std::uint64_t{24} << 30;
  int refused = 0;
  world.fake.when("oracle", Body::Prepare, [&](const auto& asked, Reaction& usual) {
    if (asked.AsPrepare()->max_bytes == 0) return;
    ++refused;
    static_cast<wire::PreparedT*>(usual.answer.value)->needed_bytes = asked.AsPrepare()->max_bytes + 1;
    usual.fds.clear();
  });
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(world.oracles_while_held, 1);
  EXPECT_EQ(world.runners_while_held, 0);
  EXPECT_EQ(world.fake.count("oracle", Body::Prepare), 2);
}

TEST(BigTask, ThatIsTooLargeForNoLimitIsMalformed) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, [](const auto&, Reaction& usual) {
    static_cast<wire::PreparedT*>(usual.answer.value)->needed_bytes = std::uint64_t{1} << 40;
    usual.fds.clear();
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::error);
  EXPECT_NE(verdict.fault, Fault::kernel);
}

TEST(BigTask, OfADeviceOfUnknownMemoryRunsAlone) {
  BigTaskBesideAnother world;
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(world.runners_while_held, 0);
}

TEST(BigTask, IsExaminedOnceItsMemoryIsFree) {
  BigTaskBesideAnother world;
  world.context.device_bytes = std::uint64_t{24} << 30;
  world.start_servers();
  TaskExamination examination(world.context, world.job, world.settings, world.job_stop);
  run_task(world.loop, examination.run());
  EXPECT_EQ(world.oracles_while_held, 1);
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 2);
}

TEST(FullDevice, WhoIsAloneAlreadyIsNotDrainedAgain) {
  VerdictWorld world;
  world.fake.spec.input_bytes = std::uint64_t{1} << 31;
  world.settings.replay = false;
  EXPECT_EQ(world.run().timing.instrument, "cuda-events");
}

}  // namespace
}  // namespace kw::verify
