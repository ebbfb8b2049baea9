#include "task_world.h"

#include "types/job.h"

namespace kw::service::test {

Task task_of(const std::string& id, const std::string& reference) {
  Task task;
  task.task_id = id;
  task.source = "test";
  task.reference_code = reference;
  return task;
}

TaskCataloguePtr catalogue_of(std::vector<Task> tasks) {
  std::vector<JobOrError> items;
  for (Task& task : tasks) {
    Job job;
    job.task = std::move(task);
    items.emplace_back(std::move(job));
  }
  auto read = TaskCatalogue::read(*job_list(std::move(items)), [](const RowError&) {});
  EXPECT_TRUE(read) << read.error().what;
  return std::make_shared<const TaskCatalogue>(std::move(*read));
}

TaskWorld::TaskWorld() {
  verifier.verdict = by_mark;
  restart([](Options& of) {
    of.tasks = catalogue_of({task_of("one"), task_of("set/two", "def reference_impl(y): return y + 1")});
  });
}

void TaskWorld::restart(const std::function<void(Options&)>& change, bool killed) {
  killed ? kill() : end();
  if (change) change(options);
  verifier.release();
  open();
  judge();
}

json::object TaskWorld::open_conversation(json::object more) {
  json::object body{{"task_id", "one"}};
  for (const auto& [key, value] : more) body[key] = value;
  auto answer = post("/v1/conversations", body);
  EXPECT_EQ(answer.status, 201) << answer.text;
  return answer.body();
}

Answer TaskWorld::turn(const std::string& id, int turn, const std::string& completion, json::object more) {
  json::object body{{"turn", turn}, {"completion", completion}, {"wait_s", 30}};
  for (const auto& [key, value] : more) body[key] = value;
  return post("/v1/conversations/" + id + "/turns", body);
}

std::string completion_of(const std::string& mark) {
  return "<triton>\nimport torch\n\ndef triton_kernel_wrapper(x):\n    return x  # " + mark + "\n</triton>\n";
}

Verdict by_mark(const Job& job) {
  Verdict verdict = correct_verdict(job);
  verdict.trust = Trust::replay;
  if (job.candidate.code.contains("right")) return verdict;
  verdict.status = Status::incorrect;
  verdict.stage = Stage::judge;
  verdict.fault = Fault::kernel;
  verdict.error_class = ErrorClass::wrong_value;
  verdict.error = "output[0] is 2, expected 1";
  verdict.counts.reset();
  verdict.speedup.reset();
  return verdict;
}

}  // namespace kw::service::test
