// Trainers' own protocols: what they send, and what each gets for a verdict, for none, and for a retry.
#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "task_world.h"

namespace kw::service::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

json::object slime_body(const std::string& mark, const json::value& label = "one") {
  return {{"prompt", "Write a kernel."}, {"response", completion_of(mark)}, {"label", label}};
}

json::object openrlhf_body(const std::string& query, const std::string& prompt,
                           const json::value& label = "one") {
  return {{"query", json::array{query}}, {"prompts", json::array{prompt}}, {"labels", json::array{label}}};
}

json::object nemo_body(const std::string& mark) {
  return {
      {"responses_create_params", {{"input", json::array{}}}},
      {"verifier_metadata", {{"task_id", "one"}}},
      {"_ng_task_index", 3},
      {"response",
       {{"id", "r"},
        {"output",
         json::array{json::object{{"type", "reasoning"}, {"summary", json::array{}}},
                     json::object{{"type", "message"},
                                  {"role", "assistant"},
                                  {"content", json::array{json::object{{"type", "output_text"},
                                                                       {"text", completion_of(mark)}}}}}}}}}};
}

json::object step_body(const std::string& mark) {
  return {{"action", {{"task_id", "one"}, {"completion", completion_of(mark)}}}};
}

// Faults of the infrastructure for so many verifications, then verdicts.
void fail_first(TaskWorld& world, int faults) {
  auto left = std::make_shared<int>(faults);
  world.verifier.verdict = [left](const Job& job) {
    return (*left)-- > 0 ? infrastructure_fault(job) : by_mark(job);
  };
}

TEST(Slime, GetsANumberOrAnObject) {
  TaskWorld world;
  auto number = world.post("/slime/number", slime_body("right"));
  EXPECT_EQ(number.status, 200) << number.text;
  EXPECT_GT(json::parse(number.text).to_number<double>(), 0);
  EXPECT_EQ(world.post("/slime/number", slime_body("wrong")).text, "0E0");
  auto object = world.post("/slime", slime_body("right"));
  EXPECT_EQ(object.at("correct"), "1E0");
  EXPECT_EQ(object.at("status"), "correct");
  EXPECT_EQ(json::parse(object.at("reward")), json::parse(number.text));
  EXPECT_THAT(world.verifier.begun, SizeIs(2)) << "equal content is one evaluation";
}

TEST(Slime, ALabelIsATaskOrCarriesOne) {
  TaskWorld world;
  const std::string reference = "def reference_impl(x): return -x";
  EXPECT_EQ(world.post("/miles", slime_body("right", "  set/two ")).status, 200);
  EXPECT_EQ(world.post("/miles", slime_body("right", json::object{{"task_id", "one"}})).status, 200);
  EXPECT_EQ(world.post("/miles", slime_body("right", R"({"task_id": "one", "note": 1})")).status, 200);
  EXPECT_EQ(world.post("/miles", slime_body("right", json::object{{"reference_code", reference}})).status,
            200);
  EXPECT_EQ(world.post("/miles", slime_body("right", nullptr)).status, 422);
  EXPECT_EQ(world.post("/miles", slime_body("right", 7)).error("field"), "label");
  EXPECT_EQ(world.post("/miles", slime_body("right", "{broken")).status, 422);
  EXPECT_EQ(world.post("/miles", slime_body("right", json::object{{"answer", 1}})).status, 422);
  EXPECT_THAT(world.post("/miles", slime_body("right", "ome")).error("message"), HasSubstr("\"one\""));
  EXPECT_EQ(world.post("/miles", json::object{{"label", "one"}}).error("field"), "response");
}

TEST(Slime, TheUrlSetsTheTermsOfTheReward) {
  TaskWorld world;
  auto capped = world.post("/slime?base=1&cap=0.25", slime_body("right"));
  EXPECT_EQ(json::parse(capped.at("reward")).to_number<double>(), 1.25);
  EXPECT_EQ(world.post("/slime?base=much", slime_body("right")).error("field"), "base");
  EXPECT_EQ(world.post("/slime?min_trust=none", slime_body("right")).status, 400);
  EXPECT_EQ(world.post("/slime?require=null", slime_body("right")).error("field"), "options.require");
  EXPECT_EQ(world.post("/slime?patience_s=-1", slime_body("right")).error("field"), "patience_s");
  EXPECT_EQ(world.post("/slime?patience_s=nan", slime_body("right")).error("field"), "patience_s");
}

// A slip would leave the default terms in force, and nobody would see it.
TEST(Dialects, AnUnknownTermOfTheUrlIsRefused) {
  TaskWorld world;
  for (const char* name : {"requir", "BASE", "min-trust", "bogus"}) {
    auto refused = world.post(std::string("/slime?cap=3&") + name + "=triton", slime_body("right"));
    EXPECT_EQ(refused.status, 400) << name;
    EXPECT_EQ(refused.error("field"), name);
    EXPECT_THAT(refused.error("message"), HasSubstr("base, cap, min_trust, require, patience_s"));
  }
  EXPECT_EQ(world.post("/nemo_gym/verify?bogus=1", nemo_body("right")).status, 400);
  EXPECT_EQ(world.post("/slime?cap=3&&owner=", slime_body("right")).status, 200);
}

TEST(Dialects, AFaultOfTheInfrastructureIsWaitedOut) {
  TaskWorld world;
  fail_first(world, 1);
  auto answer = world.post("/slime", slime_body("right"));
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_THAT(world.verifier.begun, SizeIs(2));
}

TEST(Dialects, WhatIsNotJudgedIsNeverARewardOfZero) {
  TaskWorld world;
  fail_first(world, 1'000'000);
  auto slime = world.post("/slime?patience_s=0.05", slime_body("right"));
  EXPECT_EQ(slime.status, 503);
  EXPECT_EQ(slime.error("class"), "not_judged");
  EXPECT_EQ(slime.header("Retry-After"), "5");
  auto openrlhf = world.post("/openrlhf?patience_s=0.05", openrlhf_body("Q" + completion_of("right"), "Q"));
  EXPECT_EQ(openrlhf.status, 503);
  auto nemo = world.post("/nemo_gym/verify?patience_s=0.05", nemo_body("right"));
  EXPECT_EQ(nemo.status, 200) << nemo.text;
  EXPECT_EQ(nemo.at("_ng_failure_class"), "judge_failed");
  EXPECT_EQ(nemo.at("reward"), "0E0");
  auto body = step_body("right");
  body["timeout_s"] = 0.05;
  auto openenv = world.post("/openenv/step", body);
  EXPECT_EQ(openenv.status, 200) << openenv.text;
  EXPECT_EQ(openenv.at("reward"), "null");
  EXPECT_EQ(openenv.at("done"), "false");
}

TEST(Dialects, AFaultOfTheTaskIsNotTriedAgain) {
  TaskWorld world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = infrastructure_fault(job);
    verdict.fault = Fault::task;
    verdict.error = secret;
    return verdict;
  };
  auto answer = world.post("/slime", slime_body("right"));
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.error("class"), "not_judged");
  EXPECT_THAT(answer.text, Not(HasSubstr(secret)));
  EXPECT_THAT(world.verifier.begun, SizeIs(1));
}

TEST(Dialects, ARetryFindsTheEvaluationThatIsBeingJudged) {
  TaskWorld world;
  world.verifier.hold();
  auto first = world.post("/slime?patience_s=0.05", slime_body("right"));
  EXPECT_EQ(first.status, 503);
  EXPECT_THAT(first.error("message"), HasSubstr("still running"));
  std::optional<Answer> second;
  auto done = world.begin({"POST", "/slime", {}, json::serialize(slime_body("right"))}, &second);
  world.settle();
  world.verifier.release();
  world.until([&] { return second.has_value(); });
  EXPECT_EQ(second->status, 200) << second->text;
  EXPECT_THAT(world.verifier.begun, SizeIs(1));
}

TEST(Dialects, AnotherVersionOfTheTaskIsAnotherEvaluation) {
  TaskWorld world;
  auto before = world.post("/slime", slime_body("right")).at("evaluation");
  world.restart(
      [](Options& of) { of.tasks = catalogue_of({task_of("one", "def reference_impl(x): return 3")}); });
  EXPECT_NE(world.post("/slime", slime_body("right")).at("evaluation"), before);
}

TEST(Dialects, BrokenBodiesAreRefused) {
  TaskWorld world;
  for (const char* path : {"/slime", "/miles/number", "/openrlhf", "/nemo_gym/verify", "/openenv/step"})
    for (const char* body :
         {"", "[]", "null", "{}", R"({"label": {}, "response": []})", "\xff",
          R"({"query": "q", "prompts": {}, "labels": 1})", R"({"response": {"output": {}}})",
          R"({"action": {"task_id": {}, "completion": 3}})"}) {
      auto answer = world.post(path, std::string(body));
      EXPECT_GE(answer.status, 400) << path << body;
      EXPECT_LT(answer.status, 500) << path << body;
    }
}

std::string graded(TaskWorld& world, const std::string& query, const std::string& prompt) {
  auto answer = world.post("/openrlhf", openrlhf_body(query, prompt));
  return answer.status == 200 ? answer.at("rewards") : answer.error("field");
}

TEST(OpenRlhf, TheAnswerFollowsThePrompt) {
  TaskWorld world;
  const std::string right = completion_of("right");
  const std::string reward = graded(world, "Write. " + right, "Write. ");
  EXPECT_GT(json::parse(reward).to_number<double>(), 0);
  const std::string chat = "<|im_start|>user\nWrite.<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(graded(world, chat + right + "<|im_end|>", chat), reward);
  EXPECT_EQ(graded(world, "<s> [INST] Write. [/INST]" + right + "</s>\n<pad><pad>", "[INST] Write. [/INST]"),
            reward);
  EXPECT_EQ(graded(world, "<|begin_of_text|>Write." + right + "<|eot_id|>", "Write.\n"), reward);
  EXPECT_EQ(graded(world, "<｜begin▁of▁sentence｜>Write." + right + "<｜end▁of▁sentence｜>", "Write."),
            reward);
  EXPECT_THAT(world.verifier.begun, SizeIs(1)) << "the same answer in each";
}

TEST(OpenRlhf, WhatTheAnswerIsMustBeClear) {
  TaskWorld world;
  const std::string right = completion_of("right");
  EXPECT_EQ(graded(world, "another prompt " + right, "Write."), "query[0]");
  EXPECT_EQ(graded(world, "rite." + right, "Write."), "query[0]") << "a truncated prompt";
  EXPECT_EQ(graded(world, right, " "), "prompts[0]");
  EXPECT_EQ(world.post("/openrlhf", openrlhf_body("W" + right, "W", nullptr)).error("field"), "labels[0]");
  EXPECT_EQ(world.post("/openrlhf", openrlhf_body("other", "W")).status, 422);
}

TEST(OpenRlhf, OneSampleGetsNumbersAndSeveralGetLists) {
  TaskWorld world;
  auto one = world.post("/openrlhf", openrlhf_body("W" + completion_of("wrong"), "W")).body();
  EXPECT_EQ(one.at("rewards"), 0.0);
  EXPECT_EQ(one.at("scores"), 0.0);
  EXPECT_EQ(one.at("extra_logs").at("correct"), 0.0);
  json::object two{{"query", {"W" + completion_of("wrong"), "W" + completion_of("right")}},
                   {"prompts", {"W", "W"}},
                   {"labels", {"one", "one"}}};
  EXPECT_EQ(json::serialize(world.post("/openrlhf", two).body().at("extra_logs").at("correct")), "[0E0,1E0]");
  json::object none{{"query", json::array{}}, {"prompts", json::array{}}, {"labels", json::array{}}};
  EXPECT_EQ(world.post("/openrlhf", none).status, 200);
  none["labels"] = json::array{"one"};
  EXPECT_EQ(world.post("/openrlhf", none).error("field"), "labels");
}

TEST(NemoGym, TheRowComesBackWithItsReward) {
  TaskWorld world;
  auto row = world.post("/nemo_gym/verify", nemo_body("right")).body();
  EXPECT_GT(row.at("reward").to_number<double>(), 0);
  EXPECT_EQ(row.at("response").at("id"), "r");
  EXPECT_EQ(row.at("_ng_task_index"), 3);
  EXPECT_FALSE(row.contains("_ng_failure_class"));
  auto silent = nemo_body("right");
  silent["response"] = json::object{{"output", json::array{}}};
  EXPECT_EQ(world.post("/nemo_gym/verify", silent).at("reward"), "0E0");
  EXPECT_EQ(world.get("/nemo_gym/reverify_mode").text, "\"stateless\"");
  EXPECT_EQ(world.post("/nemo_gym/seed_session", json::object{}).text, "{}");
}

TEST(NemoGym, MetricsLeaveOutWhatWasNotJudged) {
  TaskWorld world;
  auto answer = world.post("/nemo_gym/aggregate_metrics", json::parse(R"({"verify_responses": [
    {"_ng_task_index": 0, "reward": 0, "status": "x"}, {"_ng_task_index": 0, "reward": 2},
    {"_ng_task_index": 1, "reward": 1}, {"_ng_task_index": 1, "reward": 0, "_ng_failure_class": "judge_failed"}]})")
                                                              .as_object());
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body().at("agent_metrics").at("mean/reward"), 1.0);
  EXPECT_EQ(answer.body().at("agent_metrics").at("std/reward"), 1.0);
  EXPECT_EQ(answer.body().at("group_level_metrics").at(1).at("num_rollouts"), 1);
  auto none = world.post("/nemo_gym/aggregate_metrics", json::object{{"verify_responses", json::array{}}});
  EXPECT_EQ(none.body().at("agent_metrics").as_object().size(), 0U);
}

TEST(NemoGym, MetricsCountTheTokensOfTheModel) {
  TaskWorld world;
  auto answer = world.post("/nemo_gym/aggregate_metrics", json::parse(R"({"verify_responses": [
    {"reward": 1, "response": {"usage": {"output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 4}}}},
    {"reward": 0, "response": {"usage": {"output_tokens": 30}}}, {"reward": 0, "response": {"usage": null}}]})")
                                                              .as_object());
  EXPECT_EQ(answer.body().at("agent_metrics").at("mean/output_tokens"), 20.0);
  EXPECT_EQ(answer.body().at("group_level_metrics").at(0).at("max/output_tokens"), 30.0);
  EXPECT_FALSE(answer.body().at("agent_metrics").as_object().contains("mean/reasoning_tokens"));
  EXPECT_FALSE(answer.body().at("key_metrics").as_object().contains("mean/output_tokens"));
}

TEST(OpenEnv, AStepIsAnEpisode) {
  TaskWorld world;
  auto first = world.post("/openenv/reset", json::object{{"seed", 1}}).body();
  EXPECT_EQ(first.at("observation").at("task_id"), "set/two");
  EXPECT_EQ(first.at("observation").at("messages").as_array().size(), 2U);
  EXPECT_EQ(world.post("/openenv/reset", std::string()).status, 200);
  EXPECT_EQ(world.post("/openenv/reset", json::object{{"task_id", "none"}}).status, 404);
  EXPECT_EQ(world.post("/openenv/reset", json::object{{"seed", -1}}).status, 422);
  auto step = world.post("/openenv/step", step_body("wrong")).body();
  EXPECT_EQ(step.at("reward"), 0.0);
  EXPECT_EQ(step.at("done"), true);
  EXPECT_EQ(step.at("observation").at("verdict").at("status"), "incorrect");
  EXPECT_EQ(world.get("/openenv/health").at("status"), "healthy");
  EXPECT_EQ(world.get("/openenv/state").at("step_count"), "0");
  EXPECT_TRUE(
      world.get("/openenv/schema").body().at("action").at("properties").as_object().contains("completion"));
}

TEST(KernelGym, ABatchAnswersForEachTask) {
  TaskWorld world;
  auto task = [](const std::string& id) {
    return json::object{
        {"task_id", id}, {"reference_code", "r"}, {"kernel_code", "# right " + id}, {"timeout", 30}};
  };
  json::object compiled = task("a");
  compiled["reference_backend"] = "compile";
  json::object refused = task("c");
  refused["reference_backend"] = "tensorrt";
  json::object body{{"batch_id", "b"}, {"tasks", {compiled, refused, task("d"), 7}}};
  auto answer = world.post("/kernelgym/evaluate/batch", body);
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("total_tasks"), "4");
  EXPECT_EQ(answer.at("completed_tasks"), "2");
  auto results = answer.body().at("results").as_array();
  EXPECT_EQ(results[0].at("status"), "completed");
  EXPECT_EQ(results[0].at("metadata").at("reference_backend"), "compile");
  EXPECT_FALSE(results[2].at("metadata").as_object().contains("reference_backend"));
  EXPECT_EQ(results[1].at("task_id"), "c");
  EXPECT_THAT(std::string(results[1].at("error_message").as_string()), HasSubstr("torch.compile"));
  EXPECT_EQ(world.post("/evaluate/batch", json::object{{"batch_id", "b"}, {"tasks", json::array{}}}).status,
            400);
}

}  // namespace
}  // namespace kw::service::test
