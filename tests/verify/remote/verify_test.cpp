// Verdicts of a service that works correctly.
#include <gmock/gmock.h>

#include "world.h"

namespace kw::remote::test {
namespace {

using testing::Each;
using testing::Le;

TEST(Verify, TheServicesVerdictIsOursUnderOurOwnName) {
  World world;
  ASSERT_TRUE(world.connect());
  auto verdict = world.verify(job(7));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->status, Status::correct);
  EXPECT_EQ(verdict->id, "row-7");
  EXPECT_EQ(verdict->task_id, "sample/7");
  EXPECT_EQ(verdict->environment.protocol, world.service.protocol);
}

TEST(Verify, TheRequestHoldsAllOfTheJobAndTheSettings) {
  World world;
  world.options.settings.correctness_trials = 3;
  world.options.settings.tolerance = {"custom", 0.5, 0.25};
  ASSERT_TRUE(world.connect());
  Job one = job(1);
  one.sample_number = 2;
  one.task.entry_point = "Net";
  one.task.input_shapes = R"({"x": {"shape": [2], "dtype": "float32"}})";
  one.candidate.kernel_name = "fast";
  one.candidate.entry = "NetNew";
  one.options.correctness_trials = 9;
  one.carried = {{"mine", 1}};
  world.verify(one);
  const auto& request = world.service.store.begin()->second.request;
  EXPECT_EQ(request.at("reference_code").as_string(), one.task.reference_code);
  EXPECT_EQ(request.at("kernel_code").as_string(), one.candidate.code);
  EXPECT_EQ(request.at("sample_number").to_number<int>(), 2);
  EXPECT_EQ(request.at("entry_point").as_string(), "Net");
  EXPECT_EQ(request.at("kernel_entry").as_string(), "NetNew");
  EXPECT_EQ(request.at("kernel_name").as_string(), "fast");
  EXPECT_EQ(request.at("input_shapes").at("x").at("dtype").as_string(), "float32");
  EXPECT_EQ(request.at("options").at("correctness_trials").to_number<int>(), 9);
  EXPECT_EQ(request.at("options").at("tolerance").at("rtol").to_number<double>(), 0.5);
  EXPECT_FALSE(request.contains("mine"));
  EXPECT_FALSE(request.contains("fresh"));
}

TEST(Verify, FieldsThatANewerServiceHasAreHandedOn) {
  World world;
  world.service.judging = [](Evaluation& evaluation) { evaluation.verdict["novelty"] = 42; };
  ASSERT_TRUE(world.connect());
  auto verdict = world.verify(job(1));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(to_json(*verdict).at("novelty").to_number<int>(), 42);
}

TEST(Verify, ManyJobsShareRequestsAndFewConnectionsAndEachIsJudgedOnce) {
  World world;
  world.service.facts = {{"width", 512}};
  ASSERT_TRUE(world.connect());
  constexpr std::size_t count = 10'000;
  auto verdicts = world.verify_all(count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(verdicts[i]);
    ASSERT_EQ(verdicts[i]->status, Status::correct);
    ASSERT_EQ(verdicts[i]->task_id, "sample/" + std::to_string(i));
  }
  EXPECT_EQ(world.service.judged.size(), count);
  for (const auto& [id, times] : world.service.judged) ASSERT_EQ(times, 1) << id;
  EXPECT_LE(world.service.most_connections, 6U);
  EXPECT_LT(world.service.batches.size(), count / 10);
  EXPECT_THAT(world.service.batches, Each(Le(100U)));
}

TEST(Verify, ALateVerdictComesWithoutManyQuestions) {
  World world;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  beside(world.loop, [](World* in) -> async::Task<> {
    co_await sleep(500ms);
    in->service.judge_all();
  }(&world));
  EXPECT_TRUE(world.verify(job(1)));
  EXPECT_LE(world.service.asked["POST /v1/evaluations/poll"], 4);
}

TEST(Verify, AVerdictDoesNotWaitForThoseHandedInBefore) {
  World world;
  world.options.pace.poll = 10s;
  ASSERT_TRUE(world.connect());
  world.service.judges_at_once = false;
  auto slow = job(1);
  std::optional<Verdict> late;
  beside(world.loop, [](World* in, Job* one, std::optional<Verdict>* into) -> async::Task<> {
    *into = co_await in->verifier->verify(*one, in->stop);
  }(&world, &slow, &late));
  run_task(world.loop, [](World* in) -> async::Task<bool> {
    while (in->service.asked["POST /v1/evaluations/poll"] == 0) co_await sleep(1ms);
    co_return true;
  }(&world));
  world.service.judges_at_once = true;
  auto began = async::SteadyClock::now();
  EXPECT_TRUE(world.verify(job(2)));
  EXPECT_LT(async::ms_since(began), 1000);
  EXPECT_FALSE(late);
}

TEST(Verify, WhatIsStoppedIsCancelledAtTheService) {
  World world;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  beside(world.loop, [](World* in) -> async::Task<> {
    while (in->service.asked["POST /v1/evaluations/poll"] == 0) co_await sleep(1ms);
    in->stop.request("enough");
  }(&world));
  EXPECT_FALSE(world.verify(job(1)));
  run_task(world.loop, [](World* in) -> async::Task<bool> {
    co_await in->verifier->end();
    co_return true;
  }(&world));
  ASSERT_EQ(world.service.store.size(), 1U);
  EXPECT_EQ(world.service.store.begin()->second.state, "cancelled");
}

TEST(Verify, OneJobCanBeStoppedAlone) {
  World world;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  async::Stop alone(world.loop, world.stop);
  beside(world.loop, [](World* in, async::Stop* one) -> async::Task<> {
    while (in->service.order.empty()) co_await sleep(1ms);
    one->request("superseded");
  }(&world, &alone));
  EXPECT_FALSE(run_task(world.loop, world.verifier->verify(job(1), alone)));
  world.service.judges_at_once = true;
  EXPECT_TRUE(world.verify(job(2)));
}

TEST(Verify, EqualJobsAtOnceAreEvaluationsOfTheirOwn) {
  World world;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  std::vector<std::optional<Verdict>> verdicts;
  for (int i = 0; i < 2; ++i)
    beside(world.loop, [](World* in, std::vector<std::optional<Verdict>>* all) -> async::Task<> {
      Job one = job(1);
      all->push_back(co_await in->verifier->verify(one, in->stop));
    }(&world, &verdicts));
  run_task(world.loop, [](World* in, std::vector<std::optional<Verdict>>* all) -> async::Task<bool> {
    while (in->service.order.size() < 2) co_await sleep(1ms);
    in->service.judge_all();
    while (all->size() < 2) co_await sleep(1ms);
    co_return true;
  }(&world, &verdicts));
  EXPECT_TRUE(verdicts[0] && verdicts[1]);
}

TEST(Verify, AFleetThatGrowsIsSeen) {
  World world;
  world.options.pace.refresh = 1ms;
  ASSERT_TRUE(world.connect());
  world.service.facts = {{"width", 32}};
  run_task(world.loop, [](World* in) -> async::Task<bool> {
    co_await sleep(5ms);
    Job one = job(1);
    co_await in->verifier->verify(one, in->stop);
    co_await sleep(20ms);
    co_return true;
  }(&world));
  EXPECT_EQ(world.verifier->width(), 32U);
}

}  // namespace
}  // namespace kw::remote::test
