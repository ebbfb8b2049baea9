// A service that lies or has been replaced: its errors never count against the kernel or this program.
#include <gmock/gmock.h>

#include <boost/json/array.hpp>

#include "world.h"

namespace kw::remote::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The result of a lie about one evaluation.
std::string told(std::function<void(Evaluation&)> lie) {
  World world;
  world.service.judging = std::move(lie);
  if (auto connected = world.connect(); !connected) return connected.error().what;
  auto verdict = world.verify(job(1));
  if (!verdict) return "no verdict";
  if (verdict->fault != Fault::infrastructure) return "believed";
  return *verdict->error;
}

TEST(Lies, AVerdictOfAnotherCandidateIsNotBelieved) {
  EXPECT_THAT(
      told([](Evaluation& evaluation) { evaluation.verdict["candidate_sha256"] = "0123"; }),
      AllOf(HasSubstr("the evaluator at http://127.0.0.1"), HasSubstr("for a different candidate: 0123")));
}

TEST(Lies, AVerdictOfAnotherTaskIsNotBelieved) {
  EXPECT_THAT(told([](Evaluation& evaluation) { evaluation.verdict["task_id"] = "sample/other"; }),
              HasSubstr("for a different task: sample/other"));
}

TEST(Lies, AVerdictUnderAnotherProtocolIsNotBelieved) {
  EXPECT_THAT(told([](Evaluation& evaluation) {
                evaluation.verdict.at("environment").as_object()["protocol"] = "ffffffffffffffff";
              }),
              AllOf(HasSubstr("has the protocol ffffffffffffffff"), HasSubstr("repeat this command")));
}

TEST(Lies, WhatIsNoVerdictIsNotBelieved) {
  EXPECT_THAT(told([](Evaluation& evaluation) { evaluation.verdict = {}; }), HasSubstr("cannot be read"));
  EXPECT_THAT(told([](Evaluation& evaluation) { evaluation.verdict["schema"] = "other/9"; }),
              HasSubstr("not a kernelwright.verdict/1"));
  EXPECT_THAT(told([](Evaluation& evaluation) { evaluation.verdict["status"] = "splendid"; }),
              HasSubstr("lacks"));
}

TEST(Lies, DoneWithoutAVerdictIsNoVerdict) {
  World world;
  ASSERT_TRUE(world.connect());
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url != "/v1/evaluations/poll" || world.service.order.empty()) return {};
    boost::json::array all{{{"id", world.service.order[0]}, {"state", "done"}, {"verdict", nullptr}}};
    return json_response(200, {{"evaluations", all}});
  };
  EXPECT_THAT(*world.verify(job(1))->error, HasSubstr("without a verdict"));
}

TEST(Lies, ReceiptsForOtherEvaluationsAreNone) {
  World world;
  world.options.pace.patience = 50ms;
  ASSERT_TRUE(world.connect());
  world.service.instead = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url != "/v1/evaluations/batch") return {};
    boost::json::array all{{{"id", "somebody-else"}, {"state", "done"}}};
    return json_response(202, {{"evaluations", all}});
  };
  EXPECT_THAT(*world.verify(job(1))->error, HasSubstr("evaluations that it was not sent"));
}

TEST(Lies, WordsOnOtherEvaluationsChangeNothing) {
  World world;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  int lies = 0;
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url != "/v1/evaluations/poll") return {};
    if (++lies == 5) {
      world.service.judge_all();
      return {};
    }
    boost::json::array all{{{"id", "other"}, {"state", "done"}, {"verdict", {{"a", 1}}}}, 17, {{"state", 3}}};
    return json_response(200, {{"evaluations", all}});
  };
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
}

TEST(Lies, EmptyAnswersAreNotAskedForWithoutAPause) {
  World world;
  world.options.pace.poll = 10s;
  world.service.judges_at_once = false;
  ASSERT_TRUE(world.connect());
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url != "/v1/evaluations/poll") return {};
    return json_response(200, {{"evaluations", boost::json::array()}});
  };
  beside(world.loop, [](World* in) -> async::Task<> {
    co_await sleep(500ms);
    in->service.instead = nullptr;
    in->service.judge_all();
  }(&world));
  EXPECT_EQ(world.verify(job(1))->status, Status::correct);
  EXPECT_LT(world.service.asked["POST /v1/evaluations/poll"], 40);
}

TEST(Lies, AServiceThatAlwaysForgetsIsGivenUp) {
  World world;
  ASSERT_TRUE(world.connect());
  world.service.instead = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url == "/v1/evaluations/poll") world.service.store.clear();
    return {};
  };
  auto verdict = world.verify(job(1));
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("lost the evaluation"));
  EXPECT_LE(world.service.asked["POST /v1/evaluations/batch"], 7);
}

TEST(Lies, AnotherProgramThatTookTheAddressIsGivenUpAfterPatience) {
  World world;
  world.options.pace.patience = 60ms;
  ASSERT_TRUE(world.connect());
  world.service.instead = [](const http::Request&) {
    return std::optional(http::Response{200, {{"Content-Type", "text/html"}}, "<html>"});
  };
  auto verdict = world.verify(job(1));
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("without a JSON object, with text/html"));
}

TEST(Lies, AGiganticVerdictSpoilsNoOther) {
  World world;
  world.options.http.max_body_bytes = 100'000;
  world.service.judging = [](Evaluation& evaluation) {
    if (evaluation.verdict.at("task_id") == "sample/3")
      evaluation.verdict["error"] = std::string(300'000, 'x');
  };
  ASSERT_TRUE(world.connect());
  auto verdicts = world.verify_all(8);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    ASSERT_TRUE(verdicts[i]);
    EXPECT_EQ(verdicts[i]->status, i == 3 ? Status::error : Status::correct) << i;
  }
  EXPECT_EQ(verdicts[3]->fault, Fault::infrastructure);
  EXPECT_THAT(*verdicts[3]->error, HasSubstr("over 100000 bytes"));
}

// It accepts requests and never answers.
TEST(Lies, AServiceThatNeverAnswersIsGivenUpAfterPatience) {
  World world;
  world.options.pace.patience = 80ms;
  world.options.pace.request = 30ms;
  ASSERT_TRUE(world.connect());
  std::string url = world.service.url();
  auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  world.service.kill();
  auto silent = http::Server::listen(world.loop, {.port = port},
                                     [](const http::Request&, http::Responder& responder) -> async::Task<> {
                                       co_await responder.until_gone();
                                     });
  ASSERT_TRUE(silent);
  auto began = async::SteadyClock::now();
  auto verdict = world.verify(job(1));
  EXPECT_LT(async::ms_since(began), 1000);
  EXPECT_EQ(verdict->fault, Fault::infrastructure);
  EXPECT_THAT(*verdict->error, HasSubstr("took longer than it was given"));
}

}  // namespace
}  // namespace kw::remote::test
