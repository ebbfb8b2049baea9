// Lost, refused or stopped work, and the fault that the verdict names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/steady_timer.hpp>

#include "support/run_task.h"
#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace std::chrono_literals;
using namespace test;
using engine::ServerMode;
using ::testing::HasSubstr;
using wire::Body;

TEST(OracleLoss, AnOracleThatCannotBeStartedIsOurs) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Spawn, ends(Ending::closes));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_EQ(verdict.stage, Stage::prepare);
}

TEST(OracleLoss, AnOracleThatDoesNotBeginIsOursInEachTry) {
  for (const React& failure : {dies(SIGKILL), fails("prepare", "out_of_memory", "CUDA out of memory")}) {
    VerdictWorld world;
    world.fake.when("oracle", Body::Forget, failure);
    for (int i = 0; i < Tries::most; ++i) EXPECT_EQ(world.run().fault, Fault::infrastructure);
    EXPECT_EQ(world.earlier.oracles_lost, 0);
  }
}

TEST(OracleLoss, AReferenceThatBreaksItsProcessInEachTryIsTheTasks) {
  for (const React& failure : {dies(SIGKILL), ends(Ending::closes), ends(Ending::garbles),
                               fails("prepare", "infrastructure", "LookupError: a lie")})
    for (Body message : {Body::Prepare, Body::Draw, Body::Judge}) {
      VerdictWorld world;
      world.settings.replay = false;
      world.fake.when("oracle", message, failure);
      for (int i = 1; i < Tries::most; ++i) EXPECT_EQ(world.run().fault, Fault::infrastructure);
      const Verdict verdict = world.run();
      EXPECT_EQ(verdict.fault, Fault::task);
      EXPECT_EQ(verdict.status, Status::error);
      EXPECT_EQ(verdict.error_class, ErrorClass::task_invalid);
      EXPECT_THAT(*verdict.error, HasSubstr("breaks every process"));
      EXPECT_EQ(world.fake.count("oracle", Body::Spawn), Tries::most);
    }
}

TEST(OracleLoss, AReferenceThatDiesInAReplayIsTheTasks) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, [&](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsJudge()->strided) dies(SIGKILL)(asked, usual);
  });
  for (int i = 1; i < Tries::most; ++i) EXPECT_EQ(world.run().fault, Fault::infrastructure);
  EXPECT_EQ(world.run().fault, Fault::task);
}

TEST(OracleLoss, AFaultOfAnotherPartStaysOursAfterLostOracles) {
  VerdictWorld world;
  world.earlier.oracles_lost = Tries::most - 1;
  world.fake.when("runner", Body::Spawn, ends(Ending::closes));
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(OracleLoss, AStoppedJobLosesNoOracle) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, [&](const auto&, Reaction& usual) {
    usual.ending = Ending::hangs;
    world.job_stop.request("the client left");
  });
  world.run();
  EXPECT_TRUE(world.stopped);
  EXPECT_EQ(world.earlier.oracles_lost, 0);
}

TEST(OracleLoss, ATaskThatItRefusesIsTheTasks) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, fails("prepare", "import_error", "no Model"));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::task);
  EXPECT_EQ(verdict.error_class, ErrorClass::task_invalid);
  EXPECT_EQ(world.fake.count("runner", Body::Spawn), 0);
}

TEST(OracleLoss, ATaskThatIsTooLargeIsSkipped) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, fails("prepare", "too_large", "40 GiB"));
  EXPECT_EQ(world.run().status, Status::skipped);
}

TEST(OracleLoss, AReferenceThatDoesNotEndIsTheTasks) {
  VerdictWorld world;
  world.settings.timeout = 200ms;
  world.fake.when("oracle", Body::Prepare, ends(Ending::hangs));
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::task);
  EXPECT_EQ(
      verdict.error,
      "the reference did not end within the limit of --timeout, 0.2 s: raise it, or give the task smaller "
      "inputs");
}

TEST(OracleLoss, AReferenceWithoutMemoryNamesTheOption) {
  VerdictWorld world(Device::cpu);
  world.settings.memory_bytes = std::uint64_t{64} << 20;
  world.fake.when("oracle", Body::Prepare, fails("prepare", "out_of_memory", "out of memory"));
  EXPECT_EQ(world.run().error, "the reference finds no memory within --memory, 64 MiB: out of memory");
}

TEST(OracleLoss, ACallThatCannotBeReadIsOurs) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Prepare, [](const auto&, Reaction& usual) {
    usual.fds.clear();
    usual.fds.push_back(memory_file("call", "no call").value());
  });
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(OracleLoss, AnAnswerWithoutItsPartsIsOurs) {
  for (Body message : {Body::Prepare, Body::Draw}) {
    VerdictWorld world;
    world.fake.when("oracle", message, [](const auto&, Reaction& usual) { usual.fds.clear(); });
    EXPECT_EQ(world.run().fault, Fault::infrastructure);
  }
}

TEST(OracleLoss, AnOracleThatDiesIsReplaced) {
  VerdictWorld world;
  world.settings.timing_trials = 0;
  world.fake.when("oracle", Body::Prepare, dies(SIGKILL), 0);
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_EQ(world.fake.count("oracle", Body::Spawn), 2);
}

TEST(OracleLoss, AnOracleThatGarblesIsOurs) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, ends(Ending::garbles), 3);
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(OracleLoss, AnAnswerOfAnotherKindIsOurs) {
  VerdictWorld world;
  world.fake.when(
      "oracle", Body::Judge, [](const auto&, Reaction& usual) { usual.answer.Set(wire::DrawnT{}); }, 3);
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(OracleLoss, NoInputsForTheImportIsOurs) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Draw, dies(SIGKILL), 4);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_EQ(world.fake.count("runner", Body::Load), 1);
}

TEST(OracleLoss, WithoutAnOracleNobodyWaitsForTheDevice) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Spawn, ends(Ending::closes));
  engine::Lease all = run_task(world.loop, world.leases.all());
  boost::asio::steady_timer release(world.loop, 2s);
  release.async_wait([&](const boost::system::error_code& cancelled) {
    if (!cancelled) all.give_back();
  });
  const auto began = async::SteadyClock::now();
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
  EXPECT_LT(async::ms_since(began), 1000);
  release.cancel();
}

// ---- the candidate's process

struct Death {
  const char* name;
  Body message;
  React react;
  ErrorClass error_class;
  Fault fault;
};
class RunnerLoss : public ::testing::TestWithParam<Death> {};

TEST_P(RunnerLoss, IsBlamed) {
  VerdictWorld world;
  world.settings.timeout = 500ms;
  world.fake.when("runner", GetParam().message, GetParam().react, 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error_class, GetParam().error_class);
  EXPECT_EQ(verdict.fault, GetParam().fault);
}

React hangs_in_launch() {
  return [](const auto&, Reaction& usual) {
    usual.ending = Ending::hangs;
    usual.in_launch = true;
  };
}

INSTANTIATE_TEST_SUITE_P(
    Each, RunnerLoss,
    ::testing::Values(
        Death{"NotStarted", Body::Spawn, ends(Ending::closes), ErrorClass::infrastructure,
              Fault::infrastructure},
        Death{"NotImported", Body::Load, fails("import", "import_error", "no torch"),
              ErrorClass::import_error, Fault::kernel},
        Death{"OurMistake", Body::Open, fails("import", "infrastructure", "ours"), ErrorClass::infrastructure,
              Fault::infrastructure},
        Death{"DiesBeforeItHasTheCode", Body::Open, dies(SIGKILL), ErrorClass::infrastructure,
              Fault::infrastructure},
        Death{"PleadsOurMistakeInTheImport", Body::Load, fails("import", "infrastructure", "yours"),
              ErrorClass::process_died, Fault::kernel},
        Death{"PleadsOurMistake", Body::Call, fails("run", "infrastructure", "yours"),
              ErrorClass::process_died, Fault::kernel},
        Death{"Raises", Body::Call, fails("run", "runtime_error", "no"), ErrorClass::runtime_error,
              Fault::kernel},
        Death{"Faults", Body::Call, dies(SIGSEGV, true), ErrorClass::illegal_memory_access, Fault::kernel},
        Death{"Dies", Body::Call, dies(SIGKILL), ErrorClass::process_died, Fault::kernel},
        Death{"Closes", Body::Call, ends(Ending::closes), ErrorClass::process_died, Fault::kernel},
        Death{"Garbles", Body::Call, ends(Ending::garbles), ErrorClass::process_died, Fault::kernel},
        Death{"Hangs", Body::Call, ends(Ending::hangs), ErrorClass::timeout, Fault::kernel},
        Death{"HangsInALaunch", Body::Call, hangs_in_launch(), ErrorClass::timeout, Fault::kernel}),
    [](const auto& info) { return info.param.name; });

TEST(RunnerLoss, WithItsForkServerIsOurs) {
  VerdictWorld world;
  world.fake.when(
      "runner", Body::Call,
      all({[&](const auto&, Reaction&) { world.fake.kill(ServerMode::cuda); }, waits(50ms), dies(SIGKILL)}),
      1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_EQ(verdict.error, "the fork server of its process died");
}

// ---- stops

class Stopped : public ::testing::TestWithParam<std::tuple<const char*, const char*, Body, int>> {};

TEST_P(Stopped, IsNoVerdict) {
  auto [name, role, message, nth] = GetParam();
  VerdictWorld world;
  world.fake.when(
      role, message,
      [&](const auto&, Reaction& usual) {
        usual.ending = Ending::hangs;
        world.job_stop.request("the client left");
      },
      nth);
  world.run();
  EXPECT_TRUE(world.stopped);
}

INSTANTIATE_TEST_SUITE_P(Each, Stopped,
                         ::testing::Values(std::tuple{"Preparing", "oracle", Body::Prepare, 0},
                                           std::tuple{"Drawing", "oracle", Body::Draw, 4},
                                           std::tuple{"Importing", "runner", Body::Load, 1},
                                           std::tuple{"Calling", "runner", Body::Call, 1},
                                           std::tuple{"Judging", "oracle", Body::Judge, 3},
                                           std::tuple{"Recording", "runner", Body::Record, 1},
                                           std::tuple{"Loading", "replayer", Body::LoadRecording, 1},
                                           std::tuple{"Replaying", "replayer", Body::Replay, 3}),
                         [](const auto& info) { return std::string(std::get<0>(info.param)); });

TEST(Stopped, BeforeTheFirstMessageIsNoVerdict) {
  VerdictWorld world;
  world.job_stop.request("the client left");
  world.run();
  EXPECT_TRUE(world.stopped);
  EXPECT_EQ(world.fake.count("oracle", Body::Prepare), 0);
}

}  // namespace
}  // namespace kw::verify
