// Tasks that clients name by id: the list, evaluations, versions, and what a verdict does not quote.
#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "serve/hidden_reference.h"
#include "task_world.h"

namespace kw::service::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

json::object by_id(const std::string& id, json::object more = {}) {
  json::object body{{"id", id}, {"task_id", "one"}, {"kernel_code", "# right " + id}};
  for (const auto& [key, value] : more) body[key] = value;
  return body;
}

std::string version_in(TaskWorld& world, const std::string& task) {
  return world.get("/v1/tasks/" + task).at("version");
}

std::vector<std::string> listed(const Answer& answer) {
  std::vector<std::string> ids;
  for (const json::value& each : answer.body().at("tasks").as_array())
    ids.emplace_back(each.at("id").as_string());
  return ids;
}

TEST(Tasks, AreListedInParts) {
  TaskWorld world;
  auto first = world.get("/v1/tasks?limit=1");
  EXPECT_THAT(listed(first), ElementsAre("one"));
  EXPECT_EQ(first.at("total"), "2");
  auto second = world.get("/v1/tasks?limit=1&after=" + first.at("next"));
  EXPECT_THAT(listed(second), ElementsAre("set/two"));
  EXPECT_EQ(second.at("next"), "null");
  EXPECT_EQ(world.get("/v1/tasks?after=-1").error("field"), "after");
  EXPECT_EQ(world.get("/v1/tasks?limit=0").error("field"), "limit");
  EXPECT_THAT(listed(world.get("/v1/tasks?after=99")), IsEmpty());
  EXPECT_EQ(world.get("/v1/service").at("tasks"), "2");
}

TEST(Tasks, HaveAPromptInEachStyle) {
  TaskWorld world;
  auto wrapper = world.get("/v1/tasks/one");
  EXPECT_EQ(wrapper.at("prompt_style"), "wrapper");
  auto messages = wrapper.body().at("messages").as_array();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].at("role"), "system");
  EXPECT_THAT(std::string(messages[1].at("content").as_string()), HasSubstr("def reference_impl(x)"));
  auto other = world.get("/v1/tasks/set%2Ftwo?prompt_style=modelnew");
  EXPECT_THAT(json::serialize(other.body().at("messages")), HasSubstr("ModelNew"));
  EXPECT_EQ(world.get("/v1/tasks/set/two").at("id"), "set/two");
  EXPECT_EQ(world.get("/v1/tasks/one?prompt_style=verse").error("field"), "prompt_style");
}

TEST(Tasks, AskForGradientsWhereTheServiceJudgesThem) {
  TaskWorld world;
  for (bool gradients : {false, true}) {
    world.restart([=](Options& options) { options.gradients = gradients; });
    const std::string shown = json::serialize(world.get("/v1/tasks/one").body().at("messages"));
    EXPECT_EQ(shown.contains("triton_kernel_backward"), gradients);
    const auto reset = world.post("/openenv/reset", json::object{{"task_id", "one"}}).body();
    EXPECT_EQ(json::serialize(reset.at("observation")).contains("triton_kernel_backward"), gradients);
  }
}

TEST(Tasks, HostileIdsAreUnknownAndHarmless) {
  TaskWorld world;
  for (const std::string& id :
       {std::string(".."), std::string("..%2f..%2fetc%2fpasswd"), std::string("%00"), std::string("one%00"),
        std::string("%E2%98%83"), std::string("%ff"), std::string("a%0d%0ab"), std::string(1 << 20, 'x')}) {
    auto answer = world.get("/v1/tasks/" + id);
    EXPECT_EQ(answer.status, 404) << id.substr(0, 40);
    EXPECT_EQ(answer.error("class"), "unknown_task");
    EXPECT_LT(answer.text.size(), 2'000U);
  }
}

TEST(Tasks, WithoutTasksThereAreNone) {
  World world;
  EXPECT_EQ(world.get("/v1/tasks").at("total"), "0");
  EXPECT_EQ(world.get("/v1/tasks/one").status, 404);
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a")).error("class"), "unknown_task");
  EXPECT_EQ(world.post("/v1/conversations", json::object{{"task_id", "one"}}).status, 404);
}

TEST(Catalogue, AnIdWithTwoMeaningsIsAnError) {
  std::vector<JobOrError> items;
  for (const char* reference : {"def f(x): return x", "def f(x): return 2 * x"}) {
    Job job;
    job.task = task_of("one", reference);
    items.emplace_back(std::move(job));
  }
  auto read = TaskCatalogue::read(*job_list(std::move(items)), [](const RowError&) {});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("two different tasks have the id \"one\""));
}

TEST(Catalogue, RepeatedAndBadRowsAreCounted) {
  std::vector<JobOrError> items;
  Job job;
  job.task = task_of("one");
  items.emplace_back(job);
  items.emplace_back(RowError{"tasks.jsonl", 2, "not JSON", ""});
  items.emplace_back(job);
  std::vector<std::size_t> bad;
  auto read =
      TaskCatalogue::read(*job_list(std::move(items)), [&](const RowError& row) { bad.push_back(row.row); });
  ASSERT_TRUE(read);
  EXPECT_EQ(read->all().size(), 1U);
  EXPECT_EQ(read->counts().repeated, 1U);
  EXPECT_THAT(bad, ElementsAre(2U));
}

TEST(Catalogue, WithoutATaskItIsAnError) {
  std::vector<JobOrError> items;
  items.emplace_back(RowError{"tasks.jsonl", 1, "not JSON", ""});
  EXPECT_FALSE(TaskCatalogue::read(*job_list(std::move(items)), [](const RowError&) {}));
}

TEST(Catalogue, ATaskIsFoundByItsSourcesNameWhereThatIsUnique) {
  Task a = task_of("sha256:a", "def f(x): return x");
  Task b = task_of("sha256:b", "def f(x): return -x");
  Task c = task_of("sha256:c", "def f(x): return 2 * x");
  a.sample_key = "relu";
  b.sample_key = c.sample_key = "gelu";
  auto tasks = catalogue_of({a, b, c});
  EXPECT_EQ(tasks->find("relu")->task.task_id, "sha256:a");
  EXPECT_EQ(tasks->find("gelu"), nullptr);
}

TEST(ByTask, AnIdAndACandidateAreEnough) {
  TaskWorld world;
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a")).status, 202);
  world.until_state("a", "done");
  auto verdict = world.get("/v1/evaluations/a").body().at("verdict").as_object();
  EXPECT_EQ(verdict.at("status"), "correct");
  EXPECT_EQ(verdict.at("task_id"), "one");
  EXPECT_EQ(verdict.at("task_version").as_string(), version_in(world, "one"));
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a")).status, 200);
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a", {{"kernel_code", "# other"}})).status, 409);
}

TEST(ByTask, InABatchAsWell) {
  TaskWorld world;
  json::array rows{by_id("a"), by_id("b", {{"task_id", "set/two"}}), evaluation("c")};
  EXPECT_EQ(world.post("/v1/evaluations/batch", json::object{{"evaluations", rows}}).status, 202);
  for (const char* id : {"a", "b", "c"}) world.until_state(id, "done");
  rows = {by_id("d"), by_id("e", {{"task_id", "ome"}})};
  auto refused = world.post("/v1/evaluations/batch", json::object{{"evaluations", rows}});
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.error("class"), "unknown_task");
  EXPECT_EQ(refused.error("field"), "evaluations[1].task_id");
  EXPECT_THAT(refused.error("message"), HasSubstr("the nearest is \"one\""));
}

TEST(ByTask, ATaskCannotBeChangedByTheRequest) {
  TaskWorld world;
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a", {{"entry_point", "f"}})).error("field"), "entry_point");
  json::object shapes{{"x", json::object{{"shape", json::array{1}}}}};
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a", {{"input_shapes", shapes}})).error("field"),
            "input_shapes");
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a", {{"task_id", 3}})).error("field"), "task_id");
}

TEST(ByTask, AnotherVersionIsRefused) {
  TaskWorld world;
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a", {{"task_version", version_in(world, "one")}})).status,
            202);
  auto refused = world.post("/v1/evaluations", by_id("b", {{"task_version", "0123"}}));
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.error("class"), "other_version");
  EXPECT_EQ(refused.error("field"), "task_version");
}

TEST(ByTask, AStoredEvaluationKeepsTheTaskOfItsSubmission) {
  TaskWorld world;
  std::string before = version_in(world, "one");
  world.verifier.hold();
  world.post("/v1/evaluations", by_id("a"));
  std::vector<std::string> judged;
  world.verifier.verdict = [&](const Job& job) {
    judged.push_back(job.task.reference_code);
    return correct_verdict(job);
  };
  world.restart([](Options& of) { of.tasks = catalogue_of({task_of("one", "def other(x): return 0")}); },
                true);
  world.until_state("a", "done");
  EXPECT_THAT(judged, Each("def reference_impl(x): return x"));
  EXPECT_EQ(world.get("/v1/evaluations/a").body().at("verdict").at("task_version").as_string(), before);
  EXPECT_NE(version_in(world, "one"), before);
  // The same request finds the stored evaluation; a new one is judged against the new task.
  EXPECT_EQ(world.post("/v1/evaluations", by_id("a")).status, 200);
  world.post("/v1/evaluations", by_id("b"));
  world.until_state("b", "done");
  EXPECT_EQ(judged.back(), "def other(x): return 0");
}

TEST(ByTask, EqualWorkIsSharedWithARequestThatContainsTheReference) {
  TaskWorld world;
  world.submit("whole", {{"kernel_code", "# right a"}});
  world.until_state("whole", "done");
  world.post("/v1/evaluations", by_id("a"));
  world.until_state("a", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("whole"));
}

Verdict broken_task(const Job& job) {
  Verdict verdict = correct_verdict(job);
  verdict.status = Status::error;
  verdict.stage = Stage::prepare;
  verdict.fault = Fault::task;
  verdict.error_class = ErrorClass::task_invalid;
  verdict.error = std::string("the reference raised ") + secret;
  verdict.error_detail.emplace();
  verdict.error_detail->traceback = secret;
  verdict.counts.reset();
  verdict.speedup.reset();
  return verdict;
}

// Every answer, the log and the metrics of a service that judged such verdicts.
std::string all_answers(const std::function<Verdict(const Job&)>& verdict, bool contains_reference) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::string text;
  {
    TaskWorld world;
    world.verifier.verdict = verdict;
    world.restart([&](Options& of) {
      of.log_descriptor = ends[1];
      of.log_bodies = true;
    });
    for (int i = 0; i < 3; ++i) {
      std::string id = "e" + std::to_string(i);
      json::object body = by_id(id);
      if (contains_reference) body["reference_code"] = "def reference_impl(x): return x";
      text += world.post("/v1/evaluations", body).text;
      world.until([&] { return world.get("/v1/evaluations/" + id).at("verdict") != "null"; });
      text += world.get("/v1/evaluations/" + id).text + world.get("/results/" + id).text;
    }
    text += world.post("/v1/evaluations/poll", R"({"ids": ["e0", "e1"]})").text;
    std::string conversation(world.open_conversation().at("id").as_string());
    text += world.turn(conversation, 1, completion_of("right")).text;
    for (const std::string& path :
         {std::string("/v1/evaluations"), std::string("/v1/tasks"), std::string("/health"),
          std::string("/metrics"), std::string("/v1/service"), "/v1/conversations/" + conversation})
      text += world.get(path).text;
    world.end();
  }
  ::close(ends[1]);
  std::string log(1 << 20, '\0');
  log.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], log.data(), log.size()))));
  ::close(ends[0]);
  EXPECT_THAT(log, HasSubstr("\"event\":\"request\""));
  return text + log;
}

Verdict quoting_infrastructure(const Job& job) {
  Verdict verdict = infrastructure_fault(job);
  verdict.error = std::string("the oracle was lost: ") + secret;
  return verdict;
}

Verdict quoting_findings(const Job& job) {
  Verdict verdict = correct_verdict(job);
  verdict.comparison.emplace();
  verdict.comparison->findings = {
      std::string("no error budget, since the reference does not run in float64 (") + secret + "): ..."};
  return verdict;
}

TEST(Hidden, NoAnswerQuotesTheReferencesProcess) {
  for (auto verdict : {broken_task, quoting_infrastructure, quoting_findings})
    EXPECT_THAT(all_answers(verdict, false), Not(HasSubstr(secret)));
}

TEST(Hidden, AClientThatSentTheReferenceGetsItsMessages) {
  EXPECT_THAT(all_answers(broken_task, true), HasSubstr(secret));
  EXPECT_THAT(all_answers(quoting_findings, true), HasSubstr(secret));
}

TEST(Hidden, AVerdictThatLostSomethingIsNotShared) {
  TaskWorld world;
  world.verifier.verdict = quoting_findings;
  world.post("/v1/evaluations", by_id("a"));
  world.until_state("a", "done");
  world.restart();
  world.submit("whole", {{"kernel_code", "# right a"}});
  world.until_state("whole", "done");
  EXPECT_THAT(world.get("/v1/evaluations/whole").text, HasSubstr(secret));
}

TEST(Hidden, AFaultOfTheCandidateIsToldInFull) {
  Job job;
  job.candidate.code = "# wrong";
  Verdict verdict = by_mark(job);
  verdict.error_detail.emplace();
  verdict.error_detail->traceback = "kernel.py, line 3";
  verdict.error_class = ErrorClass::runtime_error;
  verdict.error = "it ran out of luck, expected more";
  EXPECT_FALSE(hide_reference(verdict));
  EXPECT_EQ(verdict.error, "it ran out of luck, expected more");
  EXPECT_EQ(verdict.error_detail->traceback, "kernel.py, line 3");
}

// The reasons quote values, and the reference's own errors.
TEST(HiddenReference, TellsVariedInputsWithoutValues) {
  Verdict verdict;
  verdict.status = Status::correct;
  verdict.counts = false;
  verdict.counts_reason = CountsReason::specialised;
  verdict.generality = Generality{
      .families = {{.family = "scaled_60",
                    .outcome = FamilyOutcome::failed,
                    .inputs = "x: scaled by 60",
                    .why = "output: 3 of 8 values differ (38%); first at [2]: expected 209.433, got inf",
                    .max_abs_error = 123.4,
                    .mismatched_share = 0.375,
                    .max_error_over_limit = Element{77.7}},
                   {.family = "sparse", .outcome = FamilyOutcome::dropped, .why = "secret_name raised"}}};
  EXPECT_TRUE(hide_reference(verdict));
  const auto& families = verdict.generality->families;
  EXPECT_EQ(families[0].why, "output: 3 of 8 values differ (38%); first at [2]");
  EXPECT_EQ(families[0].max_abs_error, 100);
  EXPECT_EQ(families[0].mismatched_share, 0.375);
  EXPECT_FALSE(families[0].max_error_over_limit);
  EXPECT_EQ(families[1].why, "the reference gives no sound answer on these inputs");
}

}  // namespace
}  // namespace kw::service::test
