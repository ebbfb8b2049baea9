// Keys of several owners: what each may ask, what it finds of the others, its rates and quotas.
#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/crypto.h"
#include "owners_world.h"
#include "serve/hidden_reference.h"
#include "serve/owners.h"

namespace kw::service::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

json::object named(const std::string& id, const std::string& task = "one") {
  return {{"id", id}, {"task_id", task}, {"kernel_code", "# right " + id}};
}

std::vector<std::string> ids_in(const Answer& answer, const char* list = "evaluations") {
  std::vector<std::string> ids;
  for (const json::value& each : answer.body().at(list).as_array())
    ids.emplace_back(each.at("id").as_string());
  return ids;
}

TEST(Owners, OneFindsNothingOfAnother) {
  OwnersWorld world;
  EXPECT_EQ(world.submit_as("alice", "mine").status, 202);
  world.done_as("alice", "mine");
  auto of = [&](const std::string& who, const std::string& method, const std::string& id) {
    Answer answer = world.as(who, method, "/v1/evaluations/" + id);
    return std::pair(answer.status, answer.text.replace(answer.text.find(id), id.size(), "ID"));
  };
  for (const char* method : {"GET", "DELETE"}) {
    EXPECT_EQ(of("bob", method, "mine").first, 404);
    EXPECT_EQ(of("bob", method, "mine"), of("bob", method, "none"));
  }
  EXPECT_EQ(world.as("bob", "GET", "/v1/evaluations/alice%1Fmine").status, 404);
  EXPECT_EQ(world.as("bob", "GET", "/v1/evaluations/mine?owner=alice").status, 404);
  EXPECT_EQ(world.as("bob", "GET", "/results/mine").status, 404);
  EXPECT_THAT(ids_in(world.as("bob", "GET", "/v1/evaluations")), IsEmpty());
  EXPECT_THAT(ids_in(world.as("alice", "GET", "/v1/evaluations")), ElementsAre("mine"));
  auto polled = world.as("bob", "POST", "/v1/evaluations/poll", {{"ids", {"mine"}}});
  EXPECT_EQ(polled.body().at("evaluations").at(0).at("state"), "unknown");
}

TEST(Owners, TheSameIdIsOnesOwn) {
  OwnersWorld world;
  EXPECT_EQ(world.submit_as("alice", "same", {{"note", "hers"}}).status, 202);
  EXPECT_EQ(world.submit_as("bob", "same", {{"note", "his"}}).status, 202);
  EXPECT_EQ(world.submit_as("bob", "same", {{"note", "another"}}).status, 409);
  EXPECT_EQ(world.done_as("alice", "same").body().at("verdict").at("note"), "hers");
  auto his = world.done_as("bob", "same").body();
  EXPECT_EQ(his.at("verdict").at("note"), "his");
  EXPECT_EQ(his.at("id"), "same");
  EXPECT_EQ(his.at("verdict").at("id"), "same");
}

TEST(Owners, TheOperatorSeesAll) {
  OwnersWorld world;
  world.submit_as("alice", "a");
  world.done_as("alice", "a");
  auto listed = world.as("the operator", "GET", "/v1/evaluations").body().at("evaluations").as_array();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].at("owner"), "alice");
  EXPECT_EQ(listed[0].at("id"), "a");
  EXPECT_EQ(world.as("the operator", "GET", "/v1/evaluations/a").status, 404);
  EXPECT_EQ(world.as("the operator", "GET", "/v1/evaluations/a?owner=alice").status, 200);
}

TEST(Owners, AnotherKeyIsNone) {
  OwnersWorld world;
  EXPECT_EQ(world.as("eve", "GET", "/v1/service").status, 401);
  EXPECT_EQ(world.get("/v1/service").status, 401);
  EXPECT_EQ(world.as("alice", "GET", "/v1/service").status, 200);
  EXPECT_EQ(world.as("alice", "GET", "/metrics").status, 403);
  EXPECT_EQ(world.as("the operator", "GET", "/metrics").status, 200);
}

TEST(Owners, EqualWorkIsNotSharedBetweenThem) {
  OwnersWorld world;
  for (const char* who : {"alice", "bob"}) {
    world.as(who, "POST", "/v1/evaluations", named("x"));
    world.done_as(who, "x");
  }
  EXPECT_THAT(world.verifier.begun, ElementsAre("x", "x"));
  json::object again = named("y");
  again["kernel_code"] = "# right x";
  world.as("alice", "POST", "/v1/evaluations", again);
  world.done_as("alice", "y");
  world.reopen(owner("alice"));
  again["id"] = "z";
  world.as("alice", "POST", "/v1/evaluations", again);
  EXPECT_EQ(world.done_as("alice", "z").body().at("verdict").at("id"), "z");
  EXPECT_EQ(world.verifier.begun.size(), 2U);
}

TEST(Owners, AScopeHidesTheOtherTasks) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.tasks = {"set/*"};
  alice.own_references = false;
  world.reopen(alice);
  auto listed = world.as("alice", "GET", "/v1/tasks");
  EXPECT_THAT(ids_in(listed, "tasks"), ElementsAre("set/two"));
  EXPECT_EQ(listed.at("total"), "1");
  EXPECT_EQ(world.as("alice", "GET", "/v1/tasks/one").status, 404);
  EXPECT_EQ(world.as("alice", "POST", "/v1/evaluations", named("a", "set/two")).status, 202);
  auto beyond = world.as("alice", "POST", "/v1/evaluations", named("b", "one"));
  auto missing = world.as("alice", "POST", "/v1/evaluations", named("b", "xxx"));
  EXPECT_EQ(beyond.status, 404);
  EXPECT_EQ(missing.status, 404);
  std::string text = missing.text;
  EXPECT_EQ(beyond.text, text.replace(text.find("xxx"), 3, "one"));
  EXPECT_EQ(world.as("alice", "POST", "/v1/conversations", {{"task_id", "one"}}).status, 404);
  auto own = world.submit_as("alice", "c");
  EXPECT_EQ(own.status, 403);
  EXPECT_EQ(own.error("field"), "reference_code");
  EXPECT_EQ(world.as("bob", "POST", "/v1/evaluations", named("b", "one")).status, 202);
}

TEST(Owners, ConversationsAreOnesOwn) {
  OwnersWorld world;
  auto opened = world.as("alice", "POST", "/v1/conversations", {{"task_id", "one"}, {"id", "talk"}});
  EXPECT_EQ(opened.status, 201);
  EXPECT_EQ(opened.at("id"), "talk");
  json::object turn{{"turn", 1}, {"completion", completion_of("wrong")}, {"wait_s", 30}};
  for (auto [method, path] : {std::pair("GET", ""), std::pair("DELETE", ""), std::pair("POST", "/turns")}) {
    auto answer = world.as("bob", method, std::string("/v1/conversations/talk") + path, turn);
    EXPECT_EQ(answer.status, 404) << method;
    EXPECT_EQ(answer.error("message"), "no conversation \"talk\" exists");
  }
  EXPECT_EQ(world.as("bob", "POST", "/v1/conversations", {{"task_id", "set/two"}, {"id", "talk"}}).status,
            201);
  auto result = world.as("alice", "POST", "/v1/conversations/talk/turns", turn);
  EXPECT_EQ(result.status, 200) << result.text;
  const auto evaluation = result.body().at("result").at("evaluation");
  ASSERT_TRUE(evaluation.is_string()) << result.text;
  const std::string path = "/v1/evaluations/" + std::string(evaluation.as_string());
  EXPECT_EQ(world.as("bob", "GET", path).status, 404);
  auto whole = world.as("alice", "GET", path);
  EXPECT_EQ(whole.body().at("verdict").at("conversation"), "talk");
  EXPECT_EQ(world.as("the operator", "GET", "/v1/conversations/talk?owner=alice").status, 200);
}

TEST(Owners, ATurnOfAnOwnerIsJudgedAfterAKill) {
  OwnersWorld world;
  world.as("alice", "POST", "/v1/conversations", {{"task_id", "one"}, {"id", "talk"}});
  world.verifier.hold();
  json::object turn{{"turn", 1}, {"completion", completion_of("right")}};
  EXPECT_EQ(world.as("alice", "POST", "/v1/conversations/talk/turns", turn).status, 202);
  world.submit_as("alice", "a");
  world.reopen(owner("alice"), true);
  EXPECT_EQ(world.done_as("alice", "a").body().at("verdict").at("id"), "a");
  auto talk = world.as("alice", "GET", "/v1/conversations/talk?wait_s=30");
  EXPECT_EQ(talk.at("stop_reason"), "success_fast") << talk.text;
}

TEST(Quota, ARateIsNamed) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.requests_per_minute = 2;
  world.reopen(alice);
  EXPECT_EQ(world.as("alice", "GET", "/v1/service").status, 200);
  EXPECT_EQ(world.as("alice", "GET", "/v1/service").status, 200);
  auto refused = world.as("alice", "GET", "/v1/service");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("Retry-After"), "30");
  EXPECT_THAT(refused.error("message"), HasSubstr("2 requests a minute"));
  EXPECT_EQ(world.as("bob", "GET", "/v1/service").status, 200);
  EXPECT_TRUE(world.service->turn_away({"POST", "/v1/evaluations", {{"X-API-Key", "key of alice"}}}));
}

TEST(Quota, EvaluationsAtOnce) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.evaluations_at_once = 2;
  world.reopen(alice);
  world.verifier.hold();
  EXPECT_EQ(world.submit_as("alice", "a").status, 202);
  EXPECT_EQ(world.submit_as("alice", "b").status, 202);
  auto refused = world.submit_as("alice", "c");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.error("message"), HasSubstr("evaluations_at_once"));
  EXPECT_NE(refused.header("Retry-After"), "");
  EXPECT_EQ(world.submit_as("alice", "a").status, 200);
  EXPECT_EQ(world.submit_as("bob", "c").status, 202);
  world.reopen(alice, true);
  world.done_as("alice", "b");
  EXPECT_EQ(world.submit_as("alice", "c").status, 202);
}

TEST(Quota, EvaluationsADaySurviveARestart) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.evaluations_per_day = 2;
  constexpr std::int64_t noon = 12 * 3600 * 1000;
  world.options.clock = Clock(noon);
  world.reopen(alice);
  world.submit_as("alice", "a");
  world.reopen(alice);
  world.submit_as("alice", "b");
  EXPECT_EQ(world.submit_as("alice", "a").status, 200);
  auto refused = world.submit_as("alice", "c");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.error("message"), HasSubstr("2 evaluations a day"));
  EXPECT_GT(std::stoi(refused.header("Retry-After")), 11 * 3600);
  EXPECT_EQ(world.as("alice", "GET", "/v1/evaluations/c").status, 404);
  world.options.clock = Clock(3 * noon);
  world.reopen(alice);
  EXPECT_EQ(world.submit_as("alice", "c").status, 202);
}

TEST(Quota, TriesOfATaskAreGivenBackWithoutAVerdict) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.tries_per_task = 2;
  world.reopen(alice);
  world.as("alice", "POST", "/v1/evaluations", named("a"));
  world.done_as("alice", "a");
  world.verifier.verdict = infrastructure_fault;
  world.as("alice", "POST", "/v1/evaluations", named("b"));
  world.done_as("alice", "b");
  world.verifier.verdict = by_mark;
  world.reopen(alice);
  EXPECT_EQ(world.as("alice", "POST", "/v1/evaluations", named("c")).status, 202);
  auto refused = world.as("alice", "POST", "/v1/evaluations", named("d"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.error("message"), HasSubstr("a task 2 times"));
  EXPECT_EQ(world.as("alice", "POST", "/v1/evaluations", named("d", "set/two")).status, 202);
  EXPECT_EQ(world.as("bob", "POST", "/v1/evaluations", named("d")).status, 202);
}

TEST(Quota, ABatchThatExceedsItStoresNothing) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.evaluations_per_day = 2;
  world.reopen(alice);
  json::object batch{{"evaluations", {evaluation("a"), evaluation("b"), evaluation("c")}}};
  EXPECT_EQ(world.as("alice", "POST", "/v1/evaluations/batch", batch).status, 429);
  EXPECT_EQ(world.as("alice", "GET", "/v1/evaluations/a").status, 404);
  EXPECT_EQ(world.submit_as("alice", "a").status, 202);
  EXPECT_EQ(world.submit_as("alice", "b").status, 202);
}

TEST(Quota, OpenConversations) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.conversations_at_once = 1;
  world.reopen(alice);
  EXPECT_EQ(world.as("alice", "POST", "/v1/conversations", {{"task_id", "one"}, {"id", "x"}}).status, 201);
  EXPECT_EQ(world.as("alice", "POST", "/v1/conversations", {{"task_id", "one"}}).status, 429);
  EXPECT_EQ(world.as("bob", "POST", "/v1/conversations", {{"task_id", "one"}}).status, 201);
  EXPECT_EQ(world.as("alice", "DELETE", "/v1/conversations/x").status, 200);
  EXPECT_EQ(world.as("alice", "POST", "/v1/conversations", {{"task_id", "one"}}).status, 201);
}

const std::string digest(64, 'a');

TEST(KeysFile, IsToml) {
  auto read = read_keys("[keys.alice]\nsha256 = \"" + digest +
                            "\"\ntasks = [\"one\", \"set/*\"]\nrequests_per_minute = 60\n"
                            "evaluations_at_once = 4\nevaluations_per_day = 100\ntries_per_task = 3\n"
                            "conversations_at_once = 5\n[keys.\"b.o-b_2\"]\nsha256 = [\"" +
                            std::string(64, 'B') + "\", \"" + std::string(64, 'c') + "\"]\n",
                        "keys.toml");
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_EQ(read->size(), 2U);
  const OwnerRules& alice = (*read)[0];
  EXPECT_EQ(alice.name, "alice");
  EXPECT_FALSE(alice.own_references);
  EXPECT_TRUE(alice.may_use("set/two"));
  EXPECT_FALSE(alice.may_use("one/more"));
  EXPECT_EQ(alice.evaluations_per_day, 100U);
  EXPECT_TRUE((*read)[1].own_references);
  EXPECT_THAT((*read)[1].digests, ElementsAre(std::string(64, 'b'), std::string(64, 'c')));
}

class BadKeys : public testing::TestWithParam<std::pair<std::string, const char*>> {};

TEST_P(BadKeys, AreNamed) {
  auto read = read_keys(GetParam().first, "keys.toml");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr(GetParam().second));
}

INSTANTIATE_TEST_SUITE_P(
    KeysFile, BadKeys,
    testing::Values(std::pair("", "has no key"), std::pair("[keys.a]\n", "keys.a has no sha256"),
                    std::pair("[keys.a]\nsha256 = \"secret\"\n", "64 hexadecimal digits"),
                    std::pair("[keys.a]\nkey = \"secret\"\n", "keys.toml:2: keys.a has an unknown field key"),
                    std::pair("[keys.a]\nsha256 = \"" + digest + "\"\ntasks = []\n", "tasks is neither"),
                    std::pair("[keys.a]\nsha256 = \"" + digest + "\"\ntries_per_task = 0\n", "from 1"),
                    std::pair("[keys.a]\nsha256 = \"" + digest + "\"\n[keys.b]\nsha256 = \"" + digest +
                                  "\"\n",
                              "two owners have the same key"),
                    std::pair("[keys.\"a b\"]\nsha256 = \"" + digest + "\"\n", "is not a name"),
                    std::pair("[other]\n", "other is not expected here"),
                    std::pair("[keys", "keys.toml:1: ")));

TEST(Coarse, AMismatchTellsNoValue) {
  Verdict verdict;
  verdict.status = Status::incorrect;
  verdict.stage = Stage::judge;
  verdict.fault = Fault::kernel;
  verdict.error_class = ErrorClass::wrong_value;
  verdict.error =
      "output: 3 of 8 values differ (38%); first at [2]: expected 5.25, got 7.5; largest error 9.75; "
      "rtol=0.01 "
      "atol=0.01";
  verdict.comparison.emplace();
  verdict.comparison->max_abs_error = 9.75;
  verdict.comparison->error_ratio = 97.5;
  verdict.comparison->error_ratios = {{.output = "output", .unit = 0.1, .error_ratio = 97.5}};
  verdict.comparison->first_mismatch = FirstMismatch{"output", {2}, 5.25, 7.5};
  verdict.evidence.emplace();
  verdict.evidence->first_mismatch.emplace();
  EvidenceTrial trial;
  trial.max_abs_error = 9.75;
  trial.outputs.emplace_back().max_abs_error = 9.75;
  verdict.evidence->trials = {trial};
  EXPECT_TRUE(hide_reference(verdict));
  EXPECT_EQ(verdict.error, "output: 3 of 8 values differ (38%); first at [2]; rtol=0.01 atol=0.01");
  EXPECT_EQ(verdict.comparison->max_abs_error, 10);
  EXPECT_EQ(verdict.comparison->error_ratio, 100);
  EXPECT_TRUE(verdict.comparison->error_ratios.empty());
  const std::string text = json::serialize(to_json(verdict));
  for (const char* value : {"5.25", "7.5", "9.75", "97.5"}) EXPECT_THAT(text, Not(HasSubstr(value)));
  EXPECT_FALSE(hide_reference(verdict));
}

TEST(Coarse, ANumberThatDiffers) {
  Verdict verdict;
  verdict.fault = Fault::kernel;
  verdict.error_class = ErrorClass::wrong_value;
  verdict.error = "output[1]: expected 3, got 4";
  EXPECT_TRUE(hide_reference(verdict));
  EXPECT_EQ(verdict.error, "output[1]: the value differs");
}

struct SitesWorld : World {
  SitesWorld() {
    end();
    options.names = http::ServedNames{};
    open();
    judge();
  }
  int status(std::vector<http::Header> headers) {
    http::Request head{"GET", "/v1/evaluations", std::move(headers)};
    auto refused = service->turn_away(head);
    const int status = ask(head).status;
    EXPECT_EQ(refused ? refused->status : 200, status);
    return status;
  }
};

TEST(Sites, APageOfAnotherSiteIsRefused) {
  SitesWorld world;
  EXPECT_EQ(world.status({{"Host", "localhost:8471"}}), 200);
  EXPECT_EQ(world.status({{"Host", "127.0.0.1:8471"}, {"Origin", "http://127.0.0.1:8471"}}), 200);
  EXPECT_EQ(world.status({{"Host", "evil.example"}}), 421);
  EXPECT_EQ(world.status({{"Host", "localhost"}, {"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(world.status({{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(world.status({}), 400);
}

TEST(Sites, WithAKeyTheNameDoesNotMatter) {
  SitesWorld world;
  world.end();
  world.options.key = "k";
  world.open();
  world.judge();
  EXPECT_EQ(world.status({{"Host", "gpu.example"}, {"X-API-Key", "k"}}), 200);
  EXPECT_EQ(world.status({{"Host", "gpu.example"}, {"X-API-Key", "k"}, {"Origin", "http://evil.example"}}),
            403);
}

TEST(Owners, ADialectKeepsToTheTasksOfTheKey) {
  OwnersWorld world;
  OwnerRules alice = owner("alice");
  alice.tasks = {"one"};
  alice.own_references = false;
  world.reopen(std::move(alice));
  auto slime = [&](const json::value& label) {
    return world.as("alice", "POST", "/slime/number",
                    {{"prompt", "p"}, {"response", completion_of("right")}, {"label", label}});
  };
  EXPECT_EQ(slime("one").status, 200);
  EXPECT_EQ(slime("set/two").error("class"), slime("set/none").error("class"));
  EXPECT_EQ(slime("set/two").status, 404);
  EXPECT_EQ(slime(json::object{{"reference_code", "def reference_impl(x): return x"}}).status, 403);
  for (int seed = 0; seed < 8; ++seed) {
    auto reset = world.as("alice", "POST", "/openenv/reset", {{"seed", seed}});
    EXPECT_EQ(reset.body().at("observation").at("task_id"), "one");
  }
}

TEST(Owners, ADialectNamesEvaluationsAsTheOwnerKnowsThem) {
  OwnersWorld world;
  auto step = world.as("alice", "POST", "/openenv/step",
                       {{"action", {{"task_id", "one"}, {"completion", completion_of("right")}}}});
  const std::string id(step.body().at("observation").at("evaluation").as_string());
  EXPECT_EQ(world.as("alice", "GET", "/v1/evaluations/" + id).status, 200);
  EXPECT_EQ(world.as("bob", "GET", "/v1/evaluations/" + id).status, 404);
}

}  // namespace
}  // namespace kw::service::test
