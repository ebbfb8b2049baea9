// Conversations: turns, feedback, stop rule, rewards; two clients, restarts, expiry and hostile requests.
#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "task_world.h"

namespace kw::service::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string id_of(const json::object& conversation) {
  return std::string(conversation.at("id").as_string());
}

std::string path_of(const std::string& id) {
  return "/v1/conversations/" + id;
}

json::object result_of(const Answer& answer) {
  json::object body = answer.body();
  const json::value* result = body.if_contains("result");
  return result && result->is_object() ? result->get_object() : json::object();
}

TEST(Conversation, BeginsWithThePromptOfTheTask) {
  TaskWorld world;
  json::object opened = world.open_conversation({{"turns", 3}, {"prompt_style", "modelnew"}});
  EXPECT_EQ(opened.at("state"), "waiting");
  EXPECT_EQ(opened.at("turn"), 1);
  EXPECT_EQ(opened.at("turns"), 3);
  EXPECT_EQ(opened.at("done"), false);
  auto prompt = world.get("/v1/tasks/one?prompt_style=modelnew").body();
  EXPECT_EQ(opened.at("observation"), prompt.at("messages"));
  EXPECT_EQ(opened.at("task_version"), prompt.at("version"));
}

TEST(Conversation, ItsPromptAsksForGradientsWhereTheyAreJudged) {
  TaskWorld world;
  for (bool backward : {false, true}) {
    json::object opened = world.open_conversation({{"options", json::object{{"backward", backward}}}});
    EXPECT_EQ(json::serialize(opened.at("observation")).contains("triton_kernel_backward"), backward);
  }
}

TEST(Conversation, AsksForGradientsWhereTheServiceJudgesThem) {
  TaskWorld world;
  world.restart([](Options& options) { options.gradients = true; });
  auto asks = [&](json::object more) {
    const json::object opened = world.open_conversation(std::move(more));
    return json::serialize(opened.at("observation")).contains("triton_kernel_backward");
  };
  EXPECT_TRUE(asks({}));
  EXPECT_TRUE(asks({{"options", json::object{{"correctness_trials", 6}}}}));
  EXPECT_FALSE(asks({{"options", json::object{{"backward", false}}}}));
}

TEST(Conversation, AWrongTurnThenARightOne) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  auto wrong = world.turn(id, 1, completion_of("wrong"));
  EXPECT_EQ(wrong.status, 200);
  EXPECT_EQ(result_of(wrong).at("verdict").at("status"), "incorrect");
  EXPECT_EQ(result_of(wrong).at("reward").as_double(), 0);
  EXPECT_EQ(wrong.at("done"), "false");
  auto observation = wrong.body().at("observation").as_array();
  ASSERT_EQ(observation.size(), 1U);
  EXPECT_EQ(observation[0].at("role"), "user");
  EXPECT_THAT(std::string(observation[0].at("content").as_string()),
              HasSubstr("Send the whole module again, corrected, with `triton_kernel_wrapper`"));
  auto right = world.turn(id, 2, completion_of("right"));
  EXPECT_EQ(right.at("done"), "true");
  EXPECT_EQ(right.at("stop_reason"), "success_fast");
  EXPECT_EQ(right.at("best_turn"), "2");
  EXPECT_EQ(right.at("turn"), "null");
  EXPECT_EQ(right.at("observation"), "[]");
  EXPECT_DOUBLE_EQ(result_of(right).at("reward").as_double(), 1.8);
  auto whole = world.get(path_of(id)).body();
  EXPECT_EQ(whole.at("messages").as_array().size(), 5U);
  EXPECT_EQ(whole.at("history").as_array().size(), 2U);
}

TEST(Conversation, CodeThatCannotRunIsToldWithoutAVerification) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  auto answer = world.turn(id, 1, "I cannot do that.");
  EXPECT_EQ(result_of(answer).at("verdict").at("error_class"), "missing_entry");
  EXPECT_EQ(result_of(answer).at("reward").as_double(), 0);
  EXPECT_THAT(world.verifier.begun, IsEmpty());
}

TEST(Conversation, EndsAtItsLimitOfTurns) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation({{"turns", 2}}));
  world.turn(id, 1, completion_of("wrong"));
  auto last = world.turn(id, 2, completion_of("wrong too"));
  EXPECT_EQ(last.at("stop_reason"), "max_turns_reached");
  auto more = world.turn(id, 3, completion_of("right"));
  EXPECT_EQ(more.status, 409);
  EXPECT_EQ(more.error("class"), "ended");
}

TEST(Conversation, GoesOnUntilTheTargetIsReached) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation({{"target_speedup", 2.0}}));
  auto slow = world.turn(id, 1, completion_of("right"));
  EXPECT_EQ(slow.at("done"), "false");
  EXPECT_THAT(slow.text, HasSubstr("not fast enough"));
}

TEST(Conversation, TheSameTurnAttachesAndAnotherCompletionDoesNot) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  std::string first = world.turn(id, 1, completion_of("wrong")).text;
  EXPECT_EQ(world.turn(id, 1, completion_of("wrong")).text, first);
  EXPECT_EQ(world.verifier.begun.size(), 1U);
  auto other = world.turn(id, 1, completion_of("right"));
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.error("class"), "conflict");
  EXPECT_EQ(world.turn(id, 3, completion_of("right")).error("class"), "out_of_order");
}

TEST(Conversation, TwoClientsSendTheSameTurnAndItIsJudgedOnce) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  world.verifier.hold();
  std::string body =
      json::serialize(json::object{{"turn", 1}, {"completion", completion_of("right")}, {"wait_s", 30}});
  http::Request request{"POST", path_of(id) + "/turns", {{"Content-Type", "application/json"}}, body};
  std::optional<Answer> first;
  std::optional<Answer> second;
  world.begin(request, &first);
  world.begin(request, &second);
  world.until([&] { return world.verifier.running == 1; });
  auto other = world.turn(id, 1, completion_of("wrong"));
  EXPECT_EQ(other.error("class"), "conflict");
  EXPECT_EQ(world.turn(id, 2, completion_of("right")).error("class"), "out_of_order");
  EXPECT_EQ(world.get(path_of(id)).at("state"), "judging");
  world.verifier.release();
  world.until([&] { return first && second; });
  EXPECT_EQ(first->text, second->text);
  EXPECT_EQ(first->at("done"), "true");
  EXPECT_EQ(world.verifier.begun.size(), 1U);
}

TEST(Conversation, WithoutAWaitTheTurnIsTaken) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  world.verifier.hold();
  auto taken = world.turn(id, 1, completion_of("right"), {{"wait_s", nullptr}});
  EXPECT_EQ(taken.status, 202);
  EXPECT_EQ(taken.at("state"), "judging");
  EXPECT_EQ(result_of(taken).at("judged"), false);
  std::optional<Answer> waiting;
  world.begin({"GET", path_of(id) + "?wait_s=30"}, &waiting);
  world.settle();
  EXPECT_FALSE(waiting);
  world.verifier.release();
  world.until([&] { return waiting.has_value(); });
  EXPECT_EQ(waiting->at("state"), "ended");
}

TEST(Conversation, AnInfrastructureFaultIsNoRewardAndTheTurnIsSentAgain) {
  TaskWorld world;
  world.verifier.verdict = infrastructure_fault;
  std::string id = id_of(world.open_conversation());
  auto answer = world.turn(id, 1, completion_of("right"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(result_of(answer).at("judged"), false);
  EXPECT_TRUE(result_of(answer).at("reward").is_null());
  EXPECT_EQ(answer.at("turn"), "1");
  EXPECT_EQ(answer.at("done"), "false");
  EXPECT_NE(answer.at("not_judged"), "null");
  world.verifier.verdict = by_mark;
  EXPECT_EQ(world.turn(id, 1, completion_of("right")).at("stop_reason"), "success_fast");
}

// A candidate can make itself unsupported: its turn is not given back.
TEST(Conversation, ASkippedCandidateHasBeenJudged) {
  TaskWorld world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = infrastructure_fault(job);
    verdict.status = Status::skipped;
    verdict.fault.reset();
    verdict.error_class = ErrorClass::unsupported_candidate;
    return verdict;
  };
  auto answer = world.turn(id_of(world.open_conversation()), 1, completion_of("right"));
  EXPECT_EQ(result_of(answer).at("judged"), true);
  EXPECT_EQ(result_of(answer).at("reward"), 0.0);
  EXPECT_EQ(answer.at("stop_reason"), "verifier_unavailable");
}

TEST(Conversation, ABrokenTaskEndsItWithoutAReward) {
  TaskWorld world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = infrastructure_fault(job);
    verdict.fault = Fault::task;
    verdict.error_class = ErrorClass::task_invalid;
    return verdict;
  };
  auto answer = world.turn(id_of(world.open_conversation()), 1, completion_of("right"));
  EXPECT_EQ(answer.at("stop_reason"), "task_invalid");
  EXPECT_TRUE(result_of(answer).at("reward").is_null());
}

TEST(Conversation, AFullQueueTakesNoTurn) {
  TaskWorld world;
  world.restart([](Options& of) { of.queue = 1; });
  world.verifier.hold();
  std::string id = id_of(world.open_conversation());
  for (const char* each : {"a", "b"}) world.submit(each);
  auto refused = world.turn(id, 1, completion_of("right"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.header("Retry-After"), "");
  world.verifier.release();
  world.until_state("b", "done");
  EXPECT_EQ(world.turn(id, 1, completion_of("right")).at("done"), "true");
}

TEST(Conversation, IsCancelledWithItsEvaluation) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  world.verifier.hold();
  world.turn(id, 1, completion_of("right"), {{"wait_s", 0}});
  world.until([&] { return world.verifier.running == 1; });
  auto ended = world.del(path_of(id));
  EXPECT_EQ(ended.status, 200);
  EXPECT_EQ(ended.at("stop_reason"), "cancelled");
  world.until([&] { return !world.verifier.stopped.empty(); });
  EXPECT_EQ(world.turn(id, 1, completion_of("right")).error("class"), "ended");
  EXPECT_EQ(world.del(path_of(id)).at("stop_reason"), "cancelled");
  EXPECT_EQ(world.del(path_of("nobody")).status, 404);
}

// The text of a large completion is searched for code before there is an evaluation.
TEST(Conversation, IsCancelledBeforeItsTurnIsSubmitted) {
  TaskWorld world;
  world.verifier.hold();
  const std::string large(3 << 20, '\n');
  for (int steps = 0; steps < 20; ++steps) {
    std::string id = id_of(world.open_conversation());
    std::optional<Answer> sent;
    std::optional<Answer> ended;
    json::object body{
        {"turn", 1}, {"completion", (steps % 2 ? large : "") + completion_of("right " + id)}, {"wait_s", 30}};
    world.begin(
        {"POST", path_of(id) + "/turns", {{"Content-Type", "application/json"}}, json::serialize(body)},
        &sent);
    world.loop.restart();
    for (int i = 0; i < steps && world.verifier.running == 0; ++i) world.loop.run_one_for(1ms);
    world.begin({"DELETE", path_of(id)}, &ended);
    world.until([&] { return sent && ended && world.verifier.running == 0; });
    EXPECT_EQ(ended->at("stop_reason"), "cancelled") << steps;
  }
  world.settle();
  world.verifier.release();
  world.submit("last");
  world.until_state("last", "done");
  EXPECT_EQ(world.verifier.begun.size(), world.verifier.stopped.size() + 1) << "none but the last is judged";
}

TEST(Conversation, ACancelledEvaluationIsNoVerdict) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  world.verifier.hold();
  world.turn(id, 1, completion_of("right"), {{"wait_s", 0}});
  world.until([&] { return world.verifier.running == 1; });
  auto history = world.get(path_of(id)).body().at("history").as_array();
  std::string evaluation(history.at(0).at("evaluation").as_string());
  world.del("/v1/evaluations/" + evaluation);
  world.until([&] { return world.get(path_of(id)).at("state") == "waiting"; });
  EXPECT_THAT(world.get(path_of(id)).at("not_judged"), HasSubstr("was cancelled"));
  world.verifier.release();
  EXPECT_EQ(world.turn(id, 1, completion_of("right")).at("done"), "true");
}

TEST(Conversation, SurvivesAKillBetweenItsTurns) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  world.turn(id, 1, completion_of("wrong"));
  std::string before = world.get(path_of(id)).text;
  world.restart({}, true);
  EXPECT_EQ(world.get(path_of(id)).text, before);
  EXPECT_EQ(world.turn(id, 2, completion_of("right")).at("best_turn"), "2");
}

TEST(Conversation, ATurnThatWasBeingJudgedAtAKillGetsItsVerdict) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  world.verifier.hold();
  world.turn(id, 1, completion_of("right"), {{"wait_s", 0}});
  world.until([&] { return world.verifier.running == 1; });
  world.restart([](Options& of) { of.tasks = catalogue_of({task_of("one", "def changed(x): return x")}); },
                true);
  world.until([&] { return world.get(path_of(id)).at("state") == "ended"; });
  EXPECT_EQ(world.get(path_of(id)).at("stop_reason"), "success_fast");
  EXPECT_EQ(world.turn(id, 1, completion_of("right")).status, 200);
  EXPECT_EQ(world.verifier.begun.size(), 1U);
}

TEST(Conversation, KeepsItsTaskWhenTheServiceHasAnotherVersion) {
  TaskWorld world;
  json::object opened = world.open_conversation();
  std::vector<std::string> judged;
  world.verifier.verdict = [&](const Job& job) {
    judged.push_back(job.task.reference_code);
    return by_mark(job);
  };
  world.restart([](Options& of) { of.tasks = catalogue_of({task_of("one", "def changed(x): return x")}); });
  auto answer = world.turn(id_of(opened), 1, completion_of("right"));
  EXPECT_THAT(judged, ElementsAre("def reference_impl(x): return x"));
  EXPECT_EQ(answer.body().at("task_version"), opened.at("task_version"));
  json::object named{{"task_id", "one"}, {"task_version", opened.at("task_version")}};
  EXPECT_EQ(world.post("/v1/conversations", named).error("class"), "other_version");
}

TEST(Conversation, ExpiresAndIsDeletedAfterItsRetention) {
  TaskWorld world;
  world.restart([](Options& of) { of.conversation_ttl = 0s; });
  std::string id = id_of(world.open_conversation());
  auto late = world.turn(id, 1, completion_of("right"));
  EXPECT_EQ(late.status, 409);
  EXPECT_THAT(late.error("message"), HasSubstr("expired"));
  EXPECT_EQ(world.get(path_of(id)).at("stop_reason"), "expired");
  world.restart([](Options& of) { of.retention = 0s; });
  world.until([&] { return world.get(path_of(id)).status == 404; });
}

TEST(Conversation, TheirNumberAndTheirBytesAreLimited) {
  TaskWorld world;
  world.restart([](Options& of) {
    of.conversations = 1;
    of.conversation_bytes = 200;
  });
  std::string id = id_of(world.open_conversation());
  auto full = world.post("/v1/conversations", json::object{{"task_id", "one"}});
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.error("class"), "conversations_full");
  auto large = world.turn(id, 1, completion_of(std::string(200, 'x')));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.error("field"), "completion");
  world.del(path_of(id));
  EXPECT_EQ(world.post("/v1/conversations", json::object{{"task_id", "one"}}).status, 201);
}

TEST(Conversation, OpeningIsIdempotentByItsId) {
  TaskWorld world;
  json::object body{{"task_id", "one"}, {"id", "mine"}, {"turns", 3}};
  EXPECT_EQ(world.post("/v1/conversations", body).status, 201);
  body["turns"] = 3.0;
  EXPECT_EQ(world.post("/v1/conversations", body).status, 200);
  body["turns"] = 4;
  EXPECT_EQ(world.post("/v1/conversations", body).error("class"), "conflict");
}

struct Slip {
  const char* body;
  const char* field;
};

class BadConversation : public testing::TestWithParam<Slip> {};

TEST_P(BadConversation, IsNamed) {
  TaskWorld world;
  auto answer = world.post("/v1/conversations", std::string(GetParam().body));
  EXPECT_GE(answer.status, 400) << answer.text;
  EXPECT_LT(answer.status, 500) << answer.text;
  EXPECT_EQ(answer.error("field"), GetParam().field) << answer.text;
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadConversation,
    testing::Values(Slip{R"({})", "task_id"}, Slip{R"({"task_id": "oen"})", "task_id"},
                    Slip{R"({"task_id": ["one"]})", "task_id"},
                    Slip{R"({"task_id": "one", "turns": 0})", "turns"},
                    Slip{R"({"task_id": "one", "turns": 101})", "turns"},
                    Slip{R"({"task_id": "one", "turns": 1.5})", "turns"},
                    Slip{R"({"task_id": "one", "prompt_style": "verse"})", "prompt_style"},
                    Slip{R"({"task_id": "one", "target_speedup": 0})", "target_speedup"},
                    Slip{R"({"task_id": "one", "reward": {"base": -1}})", "reward"},
                    Slip{R"({"task_id": "one", "options": {"timeout_s": -1}})", "options.timeout_s"},
                    Slip{R"({"task_id": "one", "max_turns": 4})", "max_turns"},
                    Slip{R"({"task_id": "one", "id": "a/b"})", "id"},
                    Slip{R"({"task_id": "one", "id": ".."})", "id"},
                    Slip{R"({"task_id": "one", "id": "\u0000"})", "id"},
                    Slip{R"({"task_id": "one", "task_version": "x"})", "task_version"}));

TEST(Conversation, HostileTurnsAreRefused) {
  TaskWorld world;
  std::string id = id_of(world.open_conversation());
  std::string turns = path_of(id) + "/turns";
  for (const char* body :
       {"{}", R"({"turn": 1})", R"({"turn": 0, "completion": "x"})", R"({"turn": "1", "completion": "x"})",
        R"({"turn": 1, "completion": 7})", R"({"turn": 1, "completion": "x", "wait_s": 61})",
        R"({"turn": 1, "completion": "x", "wait_s": -1})", R"({"turn": 1, "completion": "x", "more": 1})",
        R"({"turn": 1e300, "completion": "x"})"})
    EXPECT_EQ(world.post(turns, std::string(body)).status, 400) << body;
  EXPECT_EQ(world.post(turns, "{\"turn\":" + std::string(100'000, '[')).status, 400);
  EXPECT_EQ(world.post(path_of("..%2f" + id) + "/turns", R"({"turn": 1, "completion": "x"})").status, 404);
  EXPECT_EQ(world.get(path_of("%00")).status, 404);
  EXPECT_EQ(world.get(path_of(std::string(1 << 20, 'x'))).status, 404);
  EXPECT_EQ(world.get(turns).status, 405);
  EXPECT_EQ(world.get(path_of(id)).at("turn"), "1");
}

}  // namespace
}  // namespace kw::service::test
