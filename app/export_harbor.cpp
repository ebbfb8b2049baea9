// Tasks for Harbor: `export --format harbor`. Solutions come from verdicts of a run or from the rows of a
// data set, where the source has some.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <variant>
#include <vector>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "export.h"
#include "loop/exports/harbor.h"
#include "loop/refine/prompt.h"
#include "loop/run_store/run_reader.h"
#include "loop/tasks/formats.h"
#include "loop/tasks/readers.h"
#include "output/output_file.h"
#include "serve_tasks.h"
#include "session.h"
#include "verifier_source.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

// The kernels that are known for a task.
struct Known {
  Conversation verified;  // of each trace of this content, its best turn
  std::string paired;     // the Triton side of a data set's pair, which nobody has verified
};

// By the version of the task.
using Solutions = std::map<std::string, Known>;

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

// The files of the source with their kinds; a run is of traces.
std::vector<std::pair<std::string, InputKind>> files_of(const std::string& path,
                                                        const ParquetHelper& helper) {
  if (is_run_database(path)) return {{path, InputKind::traces}};
  if (path == "-") return {};  // has been read
  auto kind = recognise(path, Wanted::tasks, helper);
  if (!kind) return {};
  if (*kind == InputKind::tables) return tables_in(path, Wanted::tasks, helper);
  return {{path, *kind}};
}

Result<> add_verified(const std::string& path, Solutions& solutions) {
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
    solutions[service::version_of((*trace)->task)].verified.turns.push_back(*turn);
  }
}

// Whether a row contains a verdict that its kernel is right, as those of `dataset synth` do.
bool contains_right_verdict(const Job& job) {
  const auto* verdict = job.carried.if_contains("verdict");
  if (verdict == nullptr || !verdict->is_object()) return false;
  const auto* status = verdict->as_object().if_contains("status");
  const auto* counts = verdict->as_object().if_contains("counts");
  return status != nullptr && counts != nullptr && *status == "correct" && *counts == true;
}

// The rows of a batch, or of a data set: its answers were verified when it was built; its pairs have no
// verdict.
void add_row(const Job& job, Solutions& solutions) {
  Known& known = solutions[service::version_of(job.task)];
  if (!job.recorded) {
    const auto* kind = job.carried.if_contains("kind");
    const bool is_pair = kind != nullptr && *kind == "torch2triton";
    if (known.paired.empty() && (is_pair || contains_right_verdict(job)))
      known.paired = callable_solution(job.candidate);
    return;
  }
  if (!job.recorded->correctness || job.candidate.code.empty()) return;
  Turn& turn = known.verified.turns.emplace_back();
  turn.code = job.candidate.code;
  turn.verdict.emplace();
  turn.verdict->status = Status::correct;
  turn.verdict->counts = true;
  turn.verdict->speedup = job.recorded->speedup;
}

Result<> add_rows(const std::string& path, InputKind kind, const ParquetHelper& helper,
                  Solutions& solutions) {
  auto rows = open_source(path, {.helper = helper, .kind = kind, .wanted = Wanted::kernels});
  if (!rows) return std::unexpected(rows.error());
  return read_all(**rows, [&](const Job& job) { add_row(job, solutions); }, [](const RowError&) {});
}

// A file whose verdicts cannot be read still has tasks.
Solutions read_solutions(const std::string& path, const ParquetHelper& helper) {
  Solutions solutions;
  for (const auto& [file, kind] : files_of(path, helper)) {
    Result<> added;
    if (kind == InputKind::traces) added = add_verified(file, solutions);
    if (kind == InputKind::dataset || kind == InputKind::batch)
      added = add_rows(file, kind, helper, solutions);
    if (!added)
      fmt::print(stderr, "note: later solutions of {} were left out: {}\n", visible_line(file),
                 visible_line(added.error().what));
  }
  return solutions;
}

std::string prompt_of(const Task& task, refine::PromptStyle style, bool gradients) {
  return fmt::format("{}\n\n{}", refine::system_prompt_for(style, gradients),
                     refine::user_turn(task, style, gradients));
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
                                              refine::PromptStyle style, bool gradients) {
  std::vector<exports::HarborTask> made;
  for (const service::KnownTaskPtr& known : tasks.all()) {
    exports::HarborTask& task = made.emplace_back();
    task.task = known->task;
    task.version = known->version;
    task.prompt = prompt_of(known->task, style, gradients);
    auto found = solutions.find(known->version);
    if (found == solutions.end()) continue;
    const Turn* best = best_turn(found->second.verified);
    task.solution = best ? best->code : found->second.paired;
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
  auto tasks = harbor_tasks(*catalogue, solutions, flags.harbor.style.value_or(refine::PromptStyle::wrapper),
                            options->gradients);
  if (auto written = exports::write_harbor(tasks, flags.output, *options); !written)
    return failed(written.error());
  if (flags.quiet) return 0;
  auto solved = std::ranges::count_if(tasks, [](const auto& task) { return !task.solution.empty(); });
  fmt::print("{}: {}, {} of them with a solution\n", counted(tasks.size(), "task"), flags.output, solved);
  return 0;
}

}  // namespace kw::app
