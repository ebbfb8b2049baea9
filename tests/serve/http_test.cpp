// The service's HTTP interface: keys, rates, types, and every kind of invalid request.
#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>

#include "service_world.h"

namespace kw::service::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A world whose service was opened with other options.
template <typename Change>
void reopen(World& world, Change change) {
  world.end();
  change(world.options);
  world.open();
  world.judge();
}

http::Request with_header(const std::string& target, const std::string& name, const std::string& value) {
  return {"GET", target, {{name, value}}};
}

TEST(Access, WithoutTheKeyNothingIsTold) {
  World world;
  reopen(world, [](Options& options) { options.key = "open sesame"; });
  auto answer = world.get("/v1/service");
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(world.get("/no/such/path").status, 401);
  EXPECT_EQ(world.get("/openapi.json").status, 401);
  for (const char* wrong :
       {"Bearer open sesam", "Bearer open sesamee", "Bearer ", "Basic open sesame", "open sesame"})
    EXPECT_EQ(world.ask(with_header("/v1/service", "Authorization", wrong)).status, 401) << wrong;
  EXPECT_EQ(world.ask(with_header("/v1/service", "authorization", "bearer open sesame")).status, 200);
  EXPECT_EQ(world.ask(with_header("/v1/service", "X-API-Key", "open sesame")).status, 200);
}

TEST(Access, StrangersAreTurnedAwayBeforeTheirBodyIsRead) {
  World world;
  reopen(world, [](Options& options) { options.key = "open sesame"; });
  auto refused = world.service->turn_away({"POST", "/v1/evaluations"});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 401);
  EXPECT_FALSE(world.service->turn_away({"POST", "/v1/evaluations", {{"X-API-Key", "open sesame"}}}));
  EXPECT_FALSE(world.service->turn_away({"GET", "/health"}));
}

TEST(Access, HealthNeedsNoKey) {
  World world;
  reopen(world, [](Options& options) { options.key = "open sesame"; });
  EXPECT_EQ(world.get("/health").status, 200);
}

TEST(Access, AnAddressThatAsksTooOftenWaits) {
  World world;
  reopen(world, [](Options& options) { options.rate = 1; });
  http::Request request{"GET", "/v1/service"};
  request.peer = "192.0.2.1";
  int passed = 0;
  Answer answer;
  while ((answer = world.ask(request)).status == 200 && passed < 100) ++passed;
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_EQ(passed, 10);
  request.peer = "192.0.2.2";
  EXPECT_EQ(world.ask(request).status, 200);
  request.peer = "192.0.2.1";
  request.url = "/health";
  EXPECT_EQ(world.ask(request).status, 200);
}

TEST(Requests, PathsAndMethodsThatAreNotThere) {
  World world;
  EXPECT_EQ(world.get("/").status, 404);
  EXPECT_EQ(world.get("/v1/evaluations/").status, 404);
  auto answer = world.ask({"PUT", "/v1/evaluations"});
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.header("Allow"), "GET, POST");
  EXPECT_EQ(world.ask({"TRACE", "/v1/evaluations/a"}).header("Allow"), "GET, DELETE");
  EXPECT_EQ(world.ask({"HEAD", "/health"}).status, 200);
}

TEST(Requests, OtherTypesThanJson) {
  World world;
  http::Request request{"POST", "/v1/evaluations", {{"Content-Type", "text/plain"}}, "{}"};
  EXPECT_EQ(world.ask(request).status, 415);
  request.headers[0].value = "application/json; charset=latin-1";
  EXPECT_EQ(world.ask(request).status, 415);
  request.headers[0].value = "Application/JSON ;charset=\"UTF-8\"";
  EXPECT_EQ(world.ask(request).status, 400);
}

TEST(Requests, BodiesThatAreNoJson) {
  World world;
  for (std::string body : {"", "{", "[]", "null", "{} {}", "{\"a\": 1,}", "\xff{}", "{\"a\": \"\xc3\"}",
                           "{\"a\": \"\\ud800\"}"}) {
    auto answer = world.post("/v1/evaluations", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.error("class"), "invalid") << body;
  }
  EXPECT_EQ(world.post("/v1/evaluations", std::string(100'000, '[')).status, 400);
  EXPECT_EQ(world.post("/v1/evaluations", "{\"a\":" + std::string(1'000'000, '[')).status, 400);
}

struct Bad {
  const char* fields;  // put into an otherwise valid request
  const char* field;   // that the error names
};

class BadField : public testing::TestWithParam<Bad> {};

TEST_P(BadField, IsNamed) {
  World world;
  json::object body = evaluation("a");
  for (const auto& [key, value] : json::parse(GetParam().fields).as_object()) body[key] = value;
  auto answer = world.post("/v1/evaluations", body);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error("field"), GetParam().field);
  EXPECT_THAT(answer.error("message"), HasSubstr(std::string(GetParam().field).substr(0, 5)));
}

const std::string long_id = "{\"id\": \"" + std::string(10'000, 'x') + "\"}";

INSTANTIATE_TEST_SUITE_P(
    Requests, BadField,
    testing::Values(
        Bad{R"({"reference_code": null})", "reference_code"},
        Bad{R"({"reference_code": ""})", "reference_code"}, Bad{R"({"kernel_code": 3})", "kernel_code"},
        Bad{R"({"id": ""})", "id"}, Bad{R"({"id": 7})", "id"}, Bad{R"({"id": "a\u0000b"})", "id"},
        Bad{R"({"id": ".."})", "id"}, Bad{R"({"id": "batch"})", "id"}, Bad{long_id.c_str(), "id"},
        Bad{R"({"priority": 101})", "priority"}, Bad{R"({"priority": 1.5})", "priority"},
        Bad{R"({"priority": 99999999999999999999})", "priority"}, Bad{R"({"deadline_s": 0})", "deadline_s"},
        Bad{R"({"deadline_s": -1})", "deadline_s"}, Bad{R"({"deadline_s": 1e300})", "deadline_s"},
        Bad{R"({"fresh": 1})", "fresh"}, Bad{R"({"sample_number": -1})", "sample_number"},
        Bad{R"({"input_shapes": []})", "input_shapes"},
        Bad{R"({"input_shapes": {"x": {"shape": [-1]}}})", "input_shapes"},
        Bad{R"({"entry_point": {}})", "entry_point"}, Bad{R"({"kernel_entry": []})", "kernel_entry"},
        Bad{R"({"task_id": 1})", "task_id"}, Bad{R"({"kernel_name": true})", "kernel_name"},
        Bad{R"({"options": 3})", "options"}, Bad{R"({"options": {"speed": 1}})", "options.speed"},
        Bad{R"({"options": {"correctness_trials": 0}})", "options.correctness_trials"},
        Bad{R"({"options": {"timing_trials": 1e9}})", "options.timing_trials"},
        Bad{R"({"options": {"timing_precision": 2}})", "options.timing_precision"},
        Bad{R"({"options": {"timeout_s": 1e300}})", "options.timeout_s"},
        Bad{R"({"options": {"precision": "fp8"}})", "options.precision"},
        Bad{R"({"options": {"tf32": "on"}})", "options.tf32"},
        Bad{R"({"options": {"tolerance": "loose"}})", "options.tolerance"},
        Bad{R"({"options": {"tolerance": {"rtol": 1}}})", "options.tolerance"},
        Bad{R"({"options": {"tolerance": {"rtol": -1, "atol": 1}}})", "options.tolerance.rtol"},
        Bad{R"({"options": {"tolerance": {"rtol": 1, "atol": 1, "x": 1}}})", "options.tolerance.x"}));

TEST(Requests, OptionsReachTheVerifier) {
  World world;
  std::optional<JobOptions> seen;
  world.verifier.verdict = [&](const Job& job) {
    seen = job.options;
    return correct_verdict(job);
  };
  world.submit("a", {{"options",
                      {{"correctness_trials", 7},
                       {"tolerance", {{"rtol", 0.5}, {"atol", 0}}},
                       {"precision", "bf16"},
                       {"tf32", true},
                       {"timeout_s", 2.5},
                       {"timing_trials", nullptr}}}});
  world.until_state("a", "done");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->correctness_trials, 7U);
  EXPECT_EQ(seen->tolerance, (ToleranceOption{"custom", 0.5, 0}));
  EXPECT_EQ(seen->precision, "bf16");
  EXPECT_EQ(seen->timeout, std::chrono::milliseconds(2500));
  EXPECT_FALSE(seen->timing_trials);
}

TEST(Requests, AWholeNumberMayBeWrittenWithAPoint) {
  World world;
  std::optional<Job> seen;
  world.verifier.verdict = [&](const Job& job) {
    seen = job;
    return correct_verdict(job);
  };
  world.submit("a", {{"sample_number", 7.0},
                     {"options", {{"timing_trials", 20.0}}},
                     {"input_shapes", {{"x", {{"shape", {4.0, 8}}, {"dtype", "float32"}}}}}});
  world.until_state("a", "done");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->sample_number, 7);
  EXPECT_EQ(seen->options.timing_trials, 20U);
  EXPECT_THAT(seen->task.input_shapes, HasSubstr("[4,8]"));
}

TEST(Requests, AnIdMayHoldWhatAPathCanCarry) {
  World world;
  world.submit("kernelbench/1/2 50% ü?#");
  world.until_state("kernelbench%2F1%2F2%2050%25%20%C3%BC%3F%23", "done");
  EXPECT_EQ(world.state_of("kernelbench/1/2%2050%25%20%C3%BC%3F%23"), "done");
}

TEST(Requests, OddIdsInAPathAreJustUnknown) {
  World world;
  for (const std::string& id :
       {std::string(10'000, 'x'), std::string("%00"), std::string("%zz%"), std::string("a%2"),
        std::string("%ff%fe"), std::string("'; DROP TABLE evaluations; --")})
    EXPECT_EQ(world.get("/v1/evaluations/" + id).status, 404) << id;
}

TEST(Requests, WaitsThatAreNone) {
  World world;
  world.submit("a");
  world.until_state("a", "done");
  for (const char* wait : {"-1", "61", "nan", "inf", "1s", "", "0x10", "1e99"}) {
    auto answer = world.get(std::string("/v1/evaluations/a?wait_s=") + wait);
    EXPECT_EQ(answer.status, 400) << wait;
    EXPECT_EQ(answer.error("field"), "wait_s") << wait;
  }
  EXPECT_EQ(world.get("/v1/evaluations/a?other=1&wait_s=0.5").status, 200);
  EXPECT_EQ(world.post("/v1/evaluations/poll", "{\"ids\": [\"a\"], \"wait_s\": -1}").error("field"),
            "wait_s");
}

TEST(Requests, PollsThatAreNone) {
  World world;
  for (const char* body : {"{}", "{\"ids\": \"a\"}", "{\"ids\": []}"})
    EXPECT_EQ(world.post("/v1/evaluations/poll", body).error("field"), "ids") << body;
  EXPECT_EQ(world.post("/v1/evaluations/poll", "{\"ids\": [\"a\", 3]}").error("field"), "ids[1]");
  json::array many(1001, "x");
  EXPECT_EQ(world.post("/v1/evaluations/poll", json::object{{"ids", many}}).error("field"), "ids");
  EXPECT_EQ(world.post("/v1/evaluations/poll", "{\"ids\": [\"x\", \"x\"]}")
                .body()
                .at("evaluations")
                .as_array()
                .size(),
            1U);
}

TEST(Requests, OfAFieldThatIsThereTwiceTheLastCounts) {
  World world;
  auto answer =
      world.post("/v1/evaluations",
                 R"({"id": "a", "id": "b", "reference_code": "r", "kernel_code": "k", "kernel_code": "z"})");
  EXPECT_EQ(answer.at("id"), "b");
  EXPECT_EQ(world.post("/v1/evaluations", R"({"id": "b", "reference_code": "r", "kernel_code": "z"})").status,
            200);
}

TEST(Requests, ACodeWithNulIsAnsweredLikeAnyOther) {
  World world;
  world.submit("a", {{"kernel_code", std::string("a\0b", 3)}, {"odd", std::string("\0\x01", 2)}});
  world.until_state("a", "done");
  EXPECT_EQ(world.get("/v1/evaluations/a").body().at("verdict").at("odd").as_string(),
            std::string_view("\0\x01", 2));
}

TEST(Requests, WhatIsCarriedDoesNotPassForTheVerdict) {
  World world;
  world.submit("a", {{"status", "correct"}, {"speedup", 99}, {"verdict", 1}});
  world.until_state("a", "done");
  auto verdict = world.get("/v1/evaluations/a").body().at("verdict").as_object();
  EXPECT_EQ(verdict.at("speedup"), 1.5);
  EXPECT_EQ(verdict.at("carried").at("speedup"), 99);
  EXPECT_EQ(verdict.at("verdict"), 1);
}

TEST(Requests, WhatIsCarriedIsBounded) {
  World world;
  auto answer = world.submit("a", {{"small", "x"}, {"large", std::string(300'000, 'x')}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error("field"), "large");
  EXPECT_EQ(world.submit("b", {{"kernel_code", std::string(300'000, 'x')}}).status, 202);
}

TEST(Requests, ALargeBodyIsReadBesideTheLoop) {
  World world;
  std::string body = "{\"evaluations\":[" + std::string(20'000'000, ' ') + "]}";
  std::optional<Answer> large;
  std::optional<Answer> small;
  world.begin({"POST", "/v1/evaluations/batch", {}, body}, &large);
  world.begin({"GET", "/health"}, &small);
  world.until([&] { return small && large; });
  EXPECT_LT(small->number, large->number);
  EXPECT_EQ(large->status, 400);
}

TEST(Self, TheServiceDescribesItself) {
  World world;
  auto body = world.get("/v1/service").body();
  EXPECT_EQ(body.at("protocol"), "p0");
  EXPECT_EQ(body.at("width"), 1);
  EXPECT_EQ(body.at("limits").at("max_batch"), 1000);
  EXPECT_EQ(world.post("/v1/protocol", R"({"options": {"correctness_trials": 3}})").at("protocol"), "p3");
  EXPECT_EQ(world.post("/v1/protocol", "{}").at("protocol"), "p0");
  EXPECT_EQ(world.post("/v1/protocol", R"({"options": {"x": 3}})").error("field"), "options.x");
}

TEST(Self, WithoutAVerifierItIsStarting) {
  World world;
  world.end();
  world.open();
  EXPECT_EQ(world.get("/v1/service").status, 503);
  EXPECT_EQ(world.get("/health").at("status"), "starting");
  EXPECT_EQ(world.submit("a").status, 202);
  EXPECT_EQ(world.state_of("a"), "queued");
  world.judge();
  world.until_state("a", "done");
}

TEST(Self, MetricsAreInPrometheusForm) {
  World world;
  world.submit("a");
  world.until_state("a", "done");
  auto answer = world.get("/metrics");
  EXPECT_THAT(answer.header("Content-Type"), StartsWith("text/plain; version=0.0.4"));
  EXPECT_THAT(answer.text, HasSubstr("\nkernelwright_submitted_total 1\n"));
  EXPECT_THAT(answer.text, HasSubstr("\nkernelwright_verdicts_total{status=\"correct\"} 1\n"));
  EXPECT_THAT(answer.text, HasSubstr("\nkernelwright_run_seconds_bucket{le=\"+Inf\"} 1\n"));
  EXPECT_THAT(answer.text, HasSubstr("\n# TYPE kernelwright_wait_seconds histogram\n"));
}

TEST(Self, TheDescriptionIsServed) {
  World world;
  EXPECT_EQ(world.get("/openapi.json").body().at("openapi"), "3.1.0");
}

TEST(Log, LinesNameTheRequestAndHoldNoCode) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  World world;
  reopen(world, [&](Options& options) { options.log_descriptor = ends[1]; });
  world.submit("a", {{"kernel_code", "secret code"}});
  world.until_state("a", "done");
  world.end();
  ::close(ends[1]);
  std::string text(60'000, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], text.data(), text.size()))));
  ::close(ends[0]);
  EXPECT_THAT(text, HasSubstr("\"target\":\"/v1/evaluations\",\"status\":202"));
  EXPECT_THAT(text, Not(HasSubstr("secret code")));
}

TEST(Log, AReaderWhoHasGoneHoldsUpNothing) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  World world;
  reopen(world, [&](Options& options) { options.log_descriptor = ends[1]; });
  ::close(ends[0]);
  EXPECT_EQ(world.submit("a").status, 202);
  world.until_state("a", "done");
  world.end();
  ::close(ends[1]);
}

TEST(Log, AReaderWhoDoesNotReadHoldsUpNothing) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  World world;
  reopen(world, [&](Options& options) {
    options.log_descriptor = ends[1];
    options.log_bodies = true;
  });
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(world.submit(std::to_string(i), {{"kernel_code", std::string(100'000, 'x')}}).status, 202);
  world.until_state("39", "done");
  world.end();
  ::close(ends[1]);
  ::close(ends[0]);
}

}  // namespace
}  // namespace kw::service::test
