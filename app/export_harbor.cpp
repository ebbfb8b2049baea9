// Tasks for Harbor: `export --format harbor`. Solutions come from verdicts of a run, where the source has
// some.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <variant>
#include <vector>

#include "base/core/display.h"
#include "export.h"
#include "loop/exports/harbor.h"
#include "loop/refine/prompt.h"
#include "loop/run_store/run_reader.h"
#include "loop/tasks/formats.h"
#include "output/output_file.h"
#include "serve_tasks.h"
#include "session.h"
#include "verifier_source.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

// Verified kernels by the version of their task: of each trace of this content, its best turn.
using Solutions = std::map<std::string, Conversation>;

bool is_run_database(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::path(path) / "run.db", error) || fs::path(path).filename() == "run.db";
}

Result<> check_harbor_flags(const ExportFlags& flags) {
  bool of_rows = flags.rows || flags.filter || flags.min_trust || flags.form || flags.reasoning ||
                 flags.max_bytes || flags.best_only || flags.unmeasured_is_zero || flags.include_benchmarks ||
                 !flags.review.leave_out.empty();
  if (of_rows)
    return fail("--format harbor has all tasks of the source, and excludes the options of rows",
                "leave them out; `kernelwright export --help` lists them under Rows");
  return {};
}

// The tasks of a run, which `run` itself does not take as a source.
Result<SourcePtr> tasks_of_run(const std::string& path) {
  auto reader = store::open_run(path);
  if (!reader) return std::unexpected(reader.error());
  std::vector<JobOrError> jobs;
  while (true) {
    auto trace = (*reader)->next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return job_list(std::move(jobs));
    Job job;
    job.task = std::move((*trace)->task);
    jobs.emplace_back(std::move(job));
  }
}

// Files and folders of the source that have verdicts.
std::vector<std::string> traces_in(const std::string& path, const ParquetHelper& helper) {
  if (is_run_database(path)) return {path};
  if (path == "-") return {};  // has been read
  auto kind = recognise(path, Wanted::tasks, helper);
  if (!kind) return {};
  if (*kind == InputKind::traces) return {path};
  std::vector<std::string> found;
  if (*kind == InputKind::tables)
    for (const auto& [file, file_kind] : tables_in(path, Wanted::tasks, helper))
      if (file_kind == InputKind::traces) found.push_back(file);
  return found;
}

Result<> add_solutions(const std::string& path, Solutions& solutions) {
  auto reader = store::open_run(path);
  if (!reader) return std::unexpected(reader.error());
  while (true) {
    auto trace = (*reader)->next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return {};
    const Conversation* round = best_round(**trace);
    const Turn* turn = round != nullptr ? best_turn(*round) : nullptr;
    if (turn == nullptr || turn->code.empty() || !turn->verdict || !correct_and_counts(*turn->verdict))
      continue;
    solutions[service::version_of((*trace)->task)].turns.push_back(*turn);
  }
}

// A file whose verdicts cannot be read still has tasks.
Solutions read_solutions(const std::string& path, const ParquetHelper& helper) {
  Solutions solutions;
  for (const std::string& file : traces_in(path, helper))
    if (auto added = add_solutions(file, solutions); !added)
      fmt::print(stderr, "note: later solutions of {} were left out: {}\n", visible_line(file),
                 visible_line(added.error().what));
  return solutions;
}

std::string prompt_of(const Task& task, refine::PromptStyle style) {
  return fmt::format("{}\n\n{}", refine::default_system_prompt(style), refine::user_turn(task, style));
}

Result<service::TaskCatalogue> read_harbor_tasks(const ExportFlags& flags) {
  auto source =
      is_run_database(flags.run) ? tasks_of_run(flags.run) : open_task_sources({flags.run}, flags.python);
  if (!source) return std::unexpected(source.error());
  std::size_t bad_rows = 0;
  auto tasks = service::TaskCatalogue::read(
      **source, [&](const RowError& bad) { tell_bad_task(bad, ++bad_rows); }, flags.run);
  if (tasks && bad_rows > 0) fmt::print(stderr, "note: {} bad rows were left out\n", bad_rows);
  return tasks;
}

std::vector<exports::HarborTask> harbor_tasks(const service::TaskCatalogue& tasks, const Solutions& solutions,
                                              refine::PromptStyle style) {
  std::vector<exports::HarborTask> made;
  for (const service::KnownTaskPtr& known : tasks.all()) {
    exports::HarborTask& task = made.emplace_back();
    task.task = known->task;
    task.version = known->version;
    task.prompt = prompt_of(known->task, style);
    auto found = solutions.find(known->version);
    if (found == solutions.end()) continue;
    if (const Turn* best = best_turn(found->second)) task.solution = best->code;
  }
  return made;
}

}  // namespace

int export_for_harbor(const ExportFlags& flags) {
  auto options = flags.harbor.options();
  Result<> good = check_harbor_flags(flags);
  if (good && !options) good = std::unexpected(options.error());
  if (!good) {
    complain(good.error());
    return exit_usage;
  }
  if (auto may = check_new_folder(flags); !may) return failed(may.error());
  auto catalogue = read_harbor_tasks(flags);
  if (!catalogue) return failed(catalogue.error());
  Solutions solutions = read_solutions(flags.run, parquet_helper(flags.python));
  auto tasks = harbor_tasks(*catalogue, solutions, flags.harbor.style.value_or(refine::PromptStyle::wrapper));
  if (auto written = exports::write_harbor(tasks, flags.output, *options); !written)
    return failed(written.error());
  if (flags.quiet) return 0;
  auto solved = std::ranges::count_if(tasks, [](const auto& task) { return !task.solution.empty(); });
  fmt::print("{} tasks: {}, {} of them with a solution\n", tasks.size(), flags.output, solved);
  return 0;
}

}  // namespace kw::app
