// A service that is full, or refuses its requests.
#include <gmock/gmock.h>

#include "base/core/json.h"
#include "world.h"

namespace kw::remote::test {
namespace {

using testing::HasSubstr;

std::optional<http::Response> when_submitting(const http::Request& request, const http::Response& answer) {
  return request.url == "/v1/evaluations/batch" ? std::optional(answer) : std::nullopt;
}

std::size_t handed_in(const http::Request& request) {
  return parse_json(request.body)->at("evaluations").as_array().size();
}

TEST(ServiceFailure, AServiceWithoutRoomIsAskedAgainWhenItSays) {
  World world;
  ASSERT_TRUE(world.connect());
  int refusals = 3;
  auto began = async::SteadyClock::now();
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    if (refusals == 0) return {};
    auto answer = when_submitting(request, error_response(429, "full", "", {{"Retry-After", "0.05"}}));
    if (answer) --refusals;
    return answer;
  };
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
  EXPECT_GE(async::ms_since(began), 140);
}

TEST(ServiceFailure, WhereThereIsNoRoomForAllThereMayBeForSome) {
  World world;
  world.service.facts = {{"width", 64}};
  ASSERT_TRUE(world.connect());
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url != "/v1/evaluations/batch" || handed_in(request) <= 4) return {};
    return error_response(429, "no room for all", "", {{"Retry-After", "1000"}});
  };
  for (const auto& verdict : world.verify_all(64)) EXPECT_EQ(verdict->status, Status::correct);
}

TEST(ServiceFailure, AServiceThatNeverHasRoomIsGivenUp) {
  World world;
  world.options.pace.patience = 60ms;
  ASSERT_TRUE(world.connect());
  world.service.instead = [&](const http::Request& request) {
    return when_submitting(request, error_response(429, "the queue is full"));
  };
  auto verdict = world.verify(job(1));
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("429: the queue is full"));
}

TEST(ServiceFailure, OneThatIsRefusedDoesNotSpoilItsNeighbours) {
  World world;
  ASSERT_TRUE(world.connect());
  for (bool names_it : {true, false}) {
    world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
      if (request.url != "/v1/evaluations/batch") return {};
      auto body = parse_json(request.body).value();
      const auto& all = body.at("evaluations").as_array();
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].at("task_id") == "sample/5")
          return error_response(400, "no good",
                                names_it ? "evaluations[" + std::to_string(i) + "].kernel_code" : "");
      return {};
    };
    auto verdicts = world.verify_all(8);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      ASSERT_TRUE(verdicts[i]);
      EXPECT_EQ(verdicts[i]->fault, i == 5 ? std::optional(Fault::infrastructure) : std::nullopt);
    }
    EXPECT_THAT(*verdicts[5]->error, HasSubstr("400: no good"));
  }
}

TEST(ServiceFailure, RequestsStayWithinWhatTheServiceTakes) {
  World world;
  world.service.facts = {{"width", 64}, {"limits", {{"max_body_bytes", 20'000}, {"max_batch", 1000}}}};
  ASSERT_TRUE(world.connect());
  std::size_t largest = 0;
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    largest = std::max(largest, request.body.size());
    if (request.body.size() <= 20'000) return {};
    return http::Response{413, {}, "too large"};
  };
  for (const auto& verdict : world.verify_all(200)) EXPECT_EQ(verdict->status, Status::correct);
  EXPECT_LE(largest, 20'000U);
  EXPECT_GT(largest, 5'000U);
  Job large = job(1000);
  large.candidate.code += std::string(30'000, '#');
  auto verdict = world.verify(large);
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("413"));
}

TEST(ServiceFailure, AKeyThatIsTakenNoMoreEndsAllAtOnce) {
  World world;
  world.options.key_advice = "set THE_KEY";
  ASSERT_TRUE(world.connect());
  world.service.instead = [](const http::Request&) { return std::optional(error_response(401, "no")); };
  auto began = async::SteadyClock::now();
  for (const auto& verdict : world.verify_all(20)) {
    EXPECT_EQ(verdict->fault, Fault::infrastructure);
    EXPECT_THAT(*verdict->error, HasSubstr("set THE_KEY"));
  }
  EXPECT_LT(async::ms_since(began), 1000);
}

// Messages about an unavailable service go to standard error, whose reader may have closed it.
void have_words_throw(World& world) {
  world.options.say = [](const std::string&) { throw std::runtime_error("standard error is gone"); };
  world.options.pace.patience = 4s;
}

std::optional<Verdict> verify_at_most(World& world, std::chrono::milliseconds time) {
  beside(world.loop, [](World* in, std::chrono::milliseconds limit) -> async::Task<> {
    co_await sleep(limit);
    in->stop.request("it waits for ever");
  }(&world, time));
  return world.verify(job(1));
}

TEST(ServiceFailure, AnExceptionWhileHandingInEndsTheWait) {
  World world;
  have_words_throw(world);
  ASSERT_TRUE(world.connect());
  world.service.kill();
  auto verdict = verify_at_most(world, 3s);
  ASSERT_TRUE(verdict) << world.stop.cause();
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("standard error is gone"));
}

TEST(ServiceFailure, AnExceptionWhileAskingHowItStandsEndsTheWait) {
  World world;
  have_words_throw(world);
  ASSERT_TRUE(world.connect());
  world.service.judges_at_once = false;
  beside(world.loop, [](World* in) -> async::Task<> {
    while (in->service.order.empty()) co_await sleep(1ms);
    co_await sleep(20ms);
    in->service.kill();
  }(&world));
  auto verdict = verify_at_most(world, 3s);
  ASSERT_TRUE(verdict) << world.stop.cause();
  EXPECT_THAT(*verdict->error, HasSubstr("standard error is gone"));
}

TEST(ServiceFailure, AServiceThatDrainsIsWaitedFor) {
  World world;
  ASSERT_TRUE(world.connect());
  int refusals = 5;
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    if (refusals == 0) return {};
    auto answer = when_submitting(request, error_response(503, "draining", "", {{"Retry-After", "0.01"}}));
    if (answer) --refusals;
    return answer;
  };
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
}

}  // namespace
}  // namespace kw::remote::test
