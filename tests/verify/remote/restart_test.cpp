// A service, or a client, that ends and starts again.
#include <gmock/gmock.h>

#include "world.h"

namespace kw::remote::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

void expect_all_correct(const std::vector<std::optional<Verdict>>& verdicts) {
  for (const auto& verdict : verdicts) {
    ASSERT_TRUE(verdict);
    ASSERT_EQ(verdict->status, Status::correct) << verdict->error.value_or("");
  }
}

TEST(Restart, AServiceThatKeptItsStoreLosesNothingAndJudgesNothingTwice) {
  World world;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  beside(world.loop, [](World* in) -> async::Task<> {
    for (int i = 0; i < 6; ++i) {
      co_await sleep(30ms);
      in->service.kill();
      co_await sleep(20ms);
      in->service.start();
      in->service.judge_all();
    }
    in->service.judges_at_once = true;
    in->service.judge_all();
  }(&world));
  expect_all_correct(world.verify_all(60));
  EXPECT_THAT(world.service.judged, SizeIs(60));
  for (const auto& [id, times] : world.service.judged) EXPECT_EQ(times, 1) << id;
}

TEST(Restart, AServiceThatForgotEverythingGetsItAgainUnderTheSameIds) {
  World world;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  std::vector<std::string> before;
  beside(world.loop, [](World* in, std::vector<std::string>* ids) -> async::Task<> {
    while (in->service.order.size() < 8) co_await sleep(1ms);
    *ids = in->service.order;
    in->service.kill();
    in->service.store.clear();
    in->service.order.clear();
    co_await sleep(20ms);
    in->service.judges_at_once = true;
    in->service.start();
  }(&world, &before));
  expect_all_correct(world.verify_all(8));
  EXPECT_THAT(world.service.order, testing::UnorderedElementsAreArray(before));
}

TEST(Restart, WhoLivesLongFollowsAServiceToAnotherProtocol) {
  World world;
  world.options.follows = true;
  ASSERT_TRUE(world.connect());
  world.verify(job(1));
  world.service.protocol = "another";
  EXPECT_EQ(world.verify(job(2))->status, Status::correct);
  EXPECT_EQ(world.verifier->protocol(), "another");
}

TEST(Restart, AMachineOfAFleetThatDiffersFromTheOthersIsNotFollowed) {
  World world;
  world.options.follows = true;
  world.service.judging = [](Evaluation& evaluation) {
    evaluation.verdict.at("environment").as_object()["protocol"] = "of another GPU";
  };
  ASSERT_TRUE(world.connect());
  EXPECT_EQ(world.verify(job(1))->fault, Fault::infrastructure);
  EXPECT_EQ(world.verifier->protocol(), world.service.protocol);
}

TEST(Restart, AnAbsenceLongerThanPatienceIsInfrastructuresFault) {
  World world;
  world.options.pace.patience = 80ms;
  ASSERT_TRUE(world.connect());
  world.service.kill();
  auto began = async::SteadyClock::now();
  auto verdict = world.verify(job(1));
  ASSERT_TRUE(verdict);
  EXPECT_GE(async::ms_since(began), 70);
  EXPECT_EQ(verdict->status, Status::error);
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("cannot connect to"));
  EXPECT_EQ(verdict->candidate_sha256, candidate_sha256(job(1).candidate.code));

  // Others do not wait as long again, and are judged once it is available.
  began = async::SteadyClock::now();
  EXPECT_EQ(world.verify(job(2))->fault, Fault::infrastructure);
  EXPECT_LT(async::ms_since(began), 60);
  world.service.start();
  EXPECT_EQ(world.verify(job(3))->status, Status::correct);
}

TEST(Restart, ALongAbsenceIsTold) {
  World world;
  world.options.pace.patience = 10s;
  ASSERT_TRUE(world.connect());
  world.service.kill();
  beside(world.loop, [](World* in) -> async::Task<> {
    while (in->said.empty()) co_await sleep(5ms);
    in->service.start();
  }(&world));
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
  EXPECT_THAT(world.said, ElementsAre(HasSubstr("waiting up to"), HasSubstr("is reachable again after")));
}

TEST(Restart, AClientThatGoesOnFindsItsEvaluations) {
  World world;
  ASSERT_TRUE(world.connect());
  world.verify(job(1));
  ASSERT_TRUE(world.connect());  // a new process of the same run
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
  EXPECT_THAT(world.service.judged, SizeIs(1));
}

TEST(Restart, EqualJobsOfTwoRowsAreTwoEvaluations) {
  World world;
  ASSERT_TRUE(world.connect());
  Job one = job(1);
  world.verify(one);
  one.id = "another row";
  world.verify(one);
  EXPECT_THAT(world.service.judged, SizeIs(2));
}

TEST(Restart, AnotherRunHasEvaluationsOfItsOwn) {
  World world;
  ASSERT_TRUE(world.connect());
  world.verify(job(1));
  world.options.run = "another";
  ASSERT_TRUE(world.connect());
  world.verify(job(1));
  EXPECT_THAT(world.service.judged, SizeIs(2));
}

TEST(Restart, WhatAnEarlierProcessCancelledIsTriedAnew) {
  World world;
  ASSERT_TRUE(world.connect());
  world.verify(job(1));
  world.service.store.begin()->second.state = "cancelled";
  ASSERT_TRUE(world.connect());
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
  EXPECT_THAT(world.service.judged, SizeIs(2));
}

TEST(Restart, WhatFailedForWantOfInfrastructureIsTriedAnewAndOnlyThen) {
  World world;
  world.service.judging = [](Evaluation& evaluation) {
    evaluation.verdict["status"] = "error";
    evaluation.verdict["fault"] = "infrastructure";
  };
  ASSERT_TRUE(world.connect());
  EXPECT_EQ(world.verify(job(1))->fault, Fault::infrastructure);
  world.service.judging = [](Evaluation&) {};
  ASSERT_TRUE(world.connect());
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
  EXPECT_THAT(world.service.judged, SizeIs(2));
  ASSERT_TRUE(world.connect());
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
  EXPECT_THAT(world.service.judged, SizeIs(2));
}

TEST(Restart, ACancellationThatIsNotOursIsSaid) {
  World world;
  world.service.judging = [](Evaluation& evaluation) {
    evaluation.state = "cancelled";
    evaluation.cause = "deadline";
  };
  ASSERT_TRUE(world.connect());
  auto verdict = world.verify(job(1));
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("cancelled the evaluation: deadline"));
}

}  // namespace
}  // namespace kw::remote::test
