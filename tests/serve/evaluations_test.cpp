// The states of evaluations between submission and verdict.
#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "service_world.h"

namespace kw::service::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(Evaluations, OneIsSubmittedAndGetsItsVerdict) {
  World world;
  world.verifier.hold();
  auto answer = world.submit("a", {{"task_id", "sample/x"}, {"note", "mine"}});
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.at("id"), "a");
  EXPECT_EQ(world.state_of("a"), "running");
  world.verifier.release();
  world.until_state("a", "done");
  auto verdict = world.get("/v1/evaluations/a").body().at("verdict").as_object();
  EXPECT_EQ(verdict.at("status"), "correct");
  EXPECT_EQ(verdict.at("id"), "a");
  EXPECT_EQ(verdict.at("task_id"), "sample/x");
  EXPECT_EQ(verdict.at("note"), "mine");
}

TEST(Evaluations, WithoutAnIdItGetsOne) {
  World world;
  json::object body = evaluation("");
  body.erase("id");
  auto first = world.post("/v1/evaluations", body);
  auto second = world.post("/v1/evaluations", body);
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(second.status, 202);
  EXPECT_NE(first.at("id"), second.at("id"));
  world.until_state(first.at("id"), "done");
}

TEST(Evaluations, TheSameRequestAgainIsTheSameEvaluation) {
  World world;
  world.verifier.hold();
  EXPECT_EQ(world.submit("a").status, 202);
  auto again = world.post("/v1/evaluations",
                          "{\"kernel_code\": \"# a\", \"id\": \"a\", \"priority\": null,\n"
                          "\"reference_code\": \"def reference_impl(x): return x\"}");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.at("state"), "running");
  world.verifier.release();
  world.until_state("a", "done");
  EXPECT_EQ(world.submit("a").status, 200);
  EXPECT_EQ(world.submit("a").at("state"), "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("a"));
}

TEST(Evaluations, AnotherRequestUnderAnIdIsRefused) {
  World world;
  world.verifier.hold();
  world.submit("a");
  auto answer = world.submit("a", {{"kernel_code", "# another"}});
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.error("class"), "conflict");
  EXPECT_EQ(answer.error("field"), "id");
  world.verifier.release();
  world.until_state("a", "done");
  EXPECT_EQ(world.submit("a", {{"priority", 3}}).status, 409);
}

TEST(Evaluations, TwoSubmissionsAtOnceOfOneIdAreOne) {
  World world;
  std::optional<Answer> first;
  std::optional<Answer> second;
  http::Request request{"POST", "/v1/evaluations", {}, json::serialize(evaluation("a"))};
  world.begin(request, &first);
  world.begin(request, &second);
  world.until([&] { return first && second; });
  // Either may reach the store first.
  EXPECT_THAT((std::array{first->status, second->status}), UnorderedElementsAre(200, 202));
  world.until_state("a", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("a"));
}

TEST(Evaluations, TheVerifierIsKeptAsBusyAsItIsWide) {
  World world;
  world.verifier.wide = 3;
  world.verifier.hold();
  for (const char* id : {"a", "b", "c", "d", "e"}) world.submit(id);
  EXPECT_EQ(world.verifier.running, 3U);
  EXPECT_EQ(world.state_of("d"), "queued");
  world.verifier.release();
  for (const char* id : {"a", "b", "c", "d", "e"}) world.until_state(id, "done");
  EXPECT_EQ(world.verifier.most_running, 3U);
}

TEST(Evaluations, TheMoreUrgentGoFirstAndEqualOnesInOrder) {
  World world;
  world.verifier.hold();
  world.submit("running");
  world.submit("later", {{"priority", -1}});
  world.submit("first", {{"priority", 5}});
  world.submit("second", {{"priority", 5}});
  auto answer = world.submit("usual");
  EXPECT_EQ(answer.at("position"), "2");
  world.verifier.release();
  world.until_state("later", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("running", "first", "second", "usual", "later"));
}

TEST(Evaluations, AQueuedOneIsCancelled) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  auto answer = world.del("/v1/evaluations/b");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.at("state"), "cancelled");
  EXPECT_THAT(answer.at("cause"), HasSubstr("client"));
  world.verifier.release();
  world.until_state("a", "done");
  EXPECT_EQ(world.state_of("b"), "cancelled");
  EXPECT_THAT(world.verifier.begun, ElementsAre("a"));
}

TEST(Evaluations, ARunningOneIsStopped) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  EXPECT_EQ(world.del("/v1/evaluations/a").at("state"), "cancelled");
  world.until([&] { return world.verifier.begun.size() == 2; });
  EXPECT_THAT(world.verifier.stopped, ElementsAre("a"));
}

TEST(Evaluations, ADoneOneStaysDone) {
  World world;
  world.submit("a");
  world.until_state("a", "done");
  EXPECT_EQ(world.del("/v1/evaluations/a").at("state"), "done");
  EXPECT_EQ(world.del("/v1/evaluations/nobody").status, 404);
}

std::vector<std::string> listed(World& world, std::string& next) {
  auto answer = world.get("/v1/evaluations?limit=2&after=" + next);
  std::vector<std::string> ids;
  const auto body = answer.body();
  for (const auto& each : body.at("evaluations").as_array()) ids.emplace_back(each.at("id").as_string());
  next = answer.at("next");
  return ids;
}

TEST(Evaluations, ThatEndedAreListedInTheOrderOfTheirEnds) {
  World world;
  for (const char* id : {"c", "a", "b"}) {
    world.submit(id);
    world.until_state(id, "done");
  }
  world.verifier.hold();
  world.submit("runs");
  std::string next = "0-0";
  EXPECT_THAT(listed(world, next), ElementsAre("c", "a"));
  EXPECT_THAT(listed(world, next), ElementsAre("b"));
  EXPECT_THAT(listed(world, next), ElementsAre());
  world.verifier.release();
  world.until_state("runs", "done");
  EXPECT_THAT(listed(world, next), ElementsAre("runs"));
}

TEST(Evaluations, AreListedFromAPlaceOfTheListAlone) {
  World world;
  for (const char* query : {"after=x", "after=1", "after=1-", "after=-1-1", "after=1-1-1", "limit=0",
                            "limit=201", "limit=x", "after=99999999999999999999-1"})
    EXPECT_EQ(world.get(std::string("/v1/evaluations?") + query).status, 400) << query;
}

TEST(Evaluations, TheDeadlineCancelsQueuedAndRunning) {
  World world;
  world.verifier.hold();
  world.submit("running", {{"deadline_s", 0.03}});
  world.submit("queued", {{"deadline_s", 0.02}});
  world.submit("without");
  world.until_state("running", "cancelled");
  world.until_state("queued", "cancelled");
  EXPECT_EQ(world.get("/v1/evaluations/queued").at("cause"), "deadline");
  EXPECT_EQ(world.get("/v1/evaluations/running").at("cause"), "deadline");
  EXPECT_EQ(world.state_of("without"), "running");
}

TEST(Evaluations, EqualWorkIsJudgedOnceForAllWhoWait) {
  World world;
  world.verifier.wide = 4;
  world.verifier.hold();
  world.submit("first", {{"kernel_code", "same"}, {"mark", 1}});
  world.submit("second", {{"kernel_code", "same"}, {"task_id", "sample/other"}, {"mark", 2}});
  EXPECT_EQ(world.state_of("second"), "running");
  world.verifier.release();
  world.until_state("second", "done");
  world.submit("third", {{"kernel_code", "same"}});
  EXPECT_EQ(world.state_of("third"), "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("first"));
  auto verdict = world.get("/v1/evaluations/second").body().at("verdict").as_object();
  EXPECT_EQ(verdict.at("id"), "second");
  EXPECT_EQ(verdict.at("task_id"), "sample/other");
  EXPECT_EQ(verdict.at("mark"), 2);
  EXPECT_EQ(world.get("/v1/evaluations/third").body().at("verdict").as_object().contains("mark"), false);
}

TEST(Evaluations, EqualWorkInTheQueueGoesWithTheFirst) {
  World world;
  world.verifier.hold();
  world.submit("blocks");
  world.submit("a", {{"kernel_code", "same"}});
  world.submit("b", {{"kernel_code", "same"}, {"priority", 9}});
  world.verifier.release();
  world.until_state("a", "done");
  world.until_state("b", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("blocks", "b"));
}

TEST(Evaluations, OtherOptionsAreOtherWork) {
  World world;
  world.submit("a", {{"kernel_code", "same"}});
  world.submit("b", {{"kernel_code", "same"}, {"options", {{"correctness_trials", 9}}}});
  world.until_state("b", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("a", "b"));
}

// Where their names are not the function's own, the order of the shapes is that of the arguments.
TEST(Evaluations, ShapesInAnotherOrderAreOtherWork) {
  World world;
  json::object one{{"shape", {1}}};
  json::object two{{"shape", {2}}};
  json::object more{{"kernel_code", "same"}, {"input_shapes", json::object{{"a", one}, {"b", two}}}};
  json::object swapped = more;
  swapped["input_shapes"] = json::object{{"b", two}, {"a", one}};
  world.submit("first", more);
  world.until_state("first", "done");
  world.submit("second", swapped);
  world.until_state("second", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("first", "second"));
  EXPECT_EQ(world.submit("first", more).status, 200);
  EXPECT_EQ(world.submit("first", swapped).status, 409) << "it is another request";
}

TEST(Evaluations, AFreshOneIsJudgedAnew) {
  World world;
  world.submit("a", {{"kernel_code", "same"}});
  world.until_state("a", "done");
  world.submit("b", {{"kernel_code", "same"}, {"fresh", true}});
  world.until_state("b", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("a", "b"));
}

TEST(Evaluations, WhoSharesGoesOnWhenTheFirstIsCancelled) {
  World world;
  world.verifier.hold();
  world.submit("a", {{"kernel_code", "same"}});
  world.submit("b", {{"kernel_code", "same"}});
  EXPECT_EQ(world.del("/v1/evaluations/a").at("state"), "cancelled");
  world.verifier.release();
  world.until_state("b", "done");
  EXPECT_THAT(world.verifier.stopped, ElementsAre());
  EXPECT_EQ(world.state_of("a"), "cancelled");
}

TEST(Evaluations, AStopOfAllStopsWhatRunsAndStartsNothing) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  world.until([&] { return world.verifier.running == 1; });
  world.stop.request("enough");
  world.until([&] { return world.verifier.running == 0; });
  world.settle();
  EXPECT_THAT(world.verifier.begun, ElementsAre("a"));
  EXPECT_EQ(world.state_of("a"), "queued");
}

TEST(Evaluations, WorkThatIsBeingStoppedIsNotJoined) {
  World world;
  world.verifier.wide = 2;
  world.verifier.hold();
  world.verifier.ignores_stops = true;
  world.submit("a", {{"kernel_code", "same"}});
  world.until([&] { return !world.verifier.begun.empty(); });
  world.del("/v1/evaluations/a");
  world.submit("b", {{"kernel_code", "same"}});
  world.submit("c", {{"kernel_code", "same"}});
  world.verifier.release();
  world.until_state("c", "done");
  world.until_state("b", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("a", "b"));
}

TEST(Evaluations, AnInfrastructureFaultIsNotShared) {
  World world;
  world.verifier.hold();
  world.verifier.verdict = [&](const Job& job) {
    return job.id == "a" ? infrastructure_fault(job) : correct_verdict(job);
  };
  world.submit("a", {{"kernel_code", "same"}});
  world.submit("b", {{"kernel_code", "same"}});
  world.verifier.release();
  world.until_state("b", "done");
  EXPECT_EQ(world.get("/v1/evaluations/a").body().at("verdict").at("fault"), "infrastructure");
  EXPECT_EQ(world.get("/v1/evaluations/b").body().at("verdict").at("status"), "correct");
  world.submit("c", {{"kernel_code", "same"}});
  EXPECT_EQ(world.get("/v1/evaluations/c").body().at("verdict").at("status"), "correct");
}

TEST(Evaluations, AVerifierThatThrowsIsAnInfrastructureFault) {
  World world;
  world.verifier.verdict = [](const Job& job) -> Verdict {
    if (job.id == "a") throw std::runtime_error("no such luck");
    return correct_verdict(job);
  };
  world.submit("a");
  world.submit("b");
  world.until_state("b", "done");
  auto verdict = world.get("/v1/evaluations/a").body().at("verdict").as_object();
  EXPECT_EQ(verdict.at("fault"), "infrastructure");
  EXPECT_THAT(std::string(verdict.at("error").as_string()), HasSubstr("no such luck"));
}

TEST(Evaluations, AFullQueueIsSaidToBeFull) {
  World world;
  world.end();
  world.options.queue = 2;
  world.open();
  world.judge();
  world.verifier.hold();
  for (const char* id : {"running", "a", "b"}) EXPECT_EQ(world.submit(id).status, 202) << id;
  auto answer = world.submit("c");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.error("class"), "queue_full");
  EXPECT_NE(answer.header("Retry-After"), "");
  EXPECT_EQ(world.submit("a").status, 200) << "what is there needs no room";
  world.verifier.release();
  world.until_state("b", "done");
  EXPECT_EQ(world.submit("c").status, 202);
}

TEST(Evaluations, ABatchComesInWhole) {
  World world;
  json::array list{evaluation("a"), evaluation("b"), evaluation("c")};
  auto answer = world.post("/v1/evaluations/batch", json::object{{"evaluations", list}});
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(answer.body().at("evaluations").as_array().size(), 3U);
  for (const char* id : {"a", "b", "c"}) world.until_state(id, "done");
}

TEST(Evaluations, ABatchWithABadOneIsRefusedWhole) {
  World world;
  world.submit("there");
  json::object bad = evaluation("b");
  bad.erase("kernel_code");
  auto answer =
      world.post("/v1/evaluations/batch", json::object{{"evaluations", json::array{evaluation("a"), bad}}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error("field"), "evaluations[1].kernel_code");
  json::object other = evaluation("there", {{"kernel_code", "other"}});
  answer =
      world.post("/v1/evaluations/batch", json::object{{"evaluations", json::array{evaluation("a"), other}}});
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.error("field"), "evaluations[1].id");
  answer = world.post(
      "/v1/evaluations/batch",
      json::object{{"evaluations", json::array{evaluation("a"), evaluation("x"), evaluation("a")}}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error("field"), "evaluations[2].id");
  EXPECT_EQ(world.get("/v1/evaluations/a").status, 404);
}

TEST(Evaluations, ABatchOfAMillionIsTooLarge) {
  World world;
  std::string body = "{\"evaluations\":[0";
  for (int i = 1; i < 1'000'000; ++i) body += ",0";
  EXPECT_EQ(world.post("/v1/evaluations/batch", body + "]}").status, 413);
}

TEST(Evaluations, ALongPollEndsWithTheVerdict) {
  World world;
  world.verifier.hold();
  world.submit("a");
  std::optional<Answer> answer;
  world.begin({"GET", "/v1/evaluations/a?wait_s=60"}, &answer);
  world.settle();
  EXPECT_FALSE(answer);
  world.verifier.release();
  world.until([&] { return answer.has_value(); });
  EXPECT_EQ(answer->at("state"), "done");
}

TEST(Evaluations, ALongPollEndsWithItsTime) {
  World world;
  world.verifier.hold();
  world.submit("a");
  auto began = async::SteadyClock::now();
  EXPECT_EQ(world.get("/v1/evaluations/a?wait_s=0.03").at("state"), "running");
  EXPECT_GE(async::ms_since(began), 29);
}

TEST(Evaluations, AClientThatGoesInALongPollLeavesNothing) {
  World world;
  world.verifier.hold();
  world.submit("a");
  std::optional<Answer> answer;
  auto gone = world.begin({"GET", "/v1/evaluations/a?wait_s=60"}, &answer);
  auto watching = [&](int clients) {
    return world.get("/metrics").text.contains("kernelwright_watching " + std::to_string(clients) + "\n");
  };
  world.until([&] { return watching(1); });
  gone->set();
  world.until([&] { return answer.has_value(); });
  EXPECT_TRUE(watching(0));
  world.verifier.release();
  world.until_state("a", "done");
}

TEST(Evaluations, PollingGivesWhatIsOverAndWhatIsUnknown) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  auto poll = [](const json::array& ids, double wait_s) {
    return http::Request{
        "POST", "/v1/evaluations/poll", {}, json::serialize(json::object{{"ids", ids}, {"wait_s", wait_s}})};
  };
  EXPECT_EQ(world.ask(poll(json::array{"a", "b"}, 0.01)).text, "{\"evaluations\":[]}");
  std::optional<Answer> answer;
  world.begin(poll(json::array{"a", "b"}, 60), &answer);
  world.settle();
  EXPECT_FALSE(answer);
  world.del("/v1/evaluations/b");
  world.until([&] { return answer.has_value(); });
  auto list = answer->body().at("evaluations").as_array();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].at("id"), "b");
  list = world.ask(poll(json::array{"a", "nobody"}, 60)).body().at("evaluations").as_array();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].at("state"), "unknown");
}

}  // namespace
}  // namespace kw::service::test
