// Formats of other programs: logs of inspect_ai, trajectories in ATIF, run folders of KernelBench.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/core/counted.h"
#include "base/core/files.h"
#include "export.h"
#include "loop/exports/atif.h"
#include "loop/exports/inspect_log.h"
#include "loop/run_store/run_reader.h"
#include "loop/tasks/kernelbench.h"
#include "loop/tasks/kernelbench_results.h"
#include "output/output_file.h"
#include "session.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

bool ends_with_one_of(const std::string& path, const std::vector<std::string>& endings) {
  return std::ranges::find(endings, fs::path(path).extension().string()) != endings.end();
}

// Refuses flags that have no effect: these formats have every trace, and choose nothing.
Result<> check_flags_of_others(const ExportFlags& flags) {
  bool chooses = flags.rows || flags.filter || flags.min_trust || flags.form || flags.reasoning ||
                 flags.max_bytes || flags.best_only || flags.unmeasured_is_zero || flags.include_benchmarks;
  if (chooses)
    return fail(
        fmt::format("--format {} has all traces, and excludes the options of rows", to_string(flags.format)),
        "leave them out; `kernelwright export --help` lists them under Rows");
  if (flags.format == ExportFormat::inspect && !ends_with_one_of(flags.output, {".eval"}))
    return fail(fmt::format("--output {}: the extension is not .eval", flags.output),
                "inspect view recognises logs by it");
  if (flags.format == ExportFormat::atif && !ends_with_one_of(flags.output, {".jsonl", ".json"}))
    return fail(fmt::format("--output {}: the extension is not .jsonl or .json", flags.output));
  return {};
}

Result<> check_replaced(const ExportFlags& flags) {
  if (auto other = check_not_input(flags); !other) return other;
  if (flags.format == ExportFormat::inspect)
    return check_ours(flags.output, "a log that kernelwright exported", exports::is_inspect_log);
  if (flags.format == ExportFormat::atif)
    return check_ours(flags.output, "a file of trajectories that kernelwright exported", exports::is_atif);
  return check_new_folder(flags);
}

// The best turn of each trace of a KernelBench task, as a kernel of the run folder and a result.
struct KernelBenchRun {
  fs::path folder;
  std::vector<KernelBenchResult> results;
  std::size_t kernels = 0;
  std::size_t of_others = 0;  // traces of other tasks

  Result<> add(const Trace& trace) {
    auto place = kernelbench_place(trace.task.task_id, trace.sample_number);
    if (!place) {
      ++of_others;
      return {};
    }
    const Conversation* round = best_round(trace);
    const Turn* turn = round ? best_turn(*round) : nullptr;
    if (!turn || turn->code.empty()) return {};
    if (auto made = make_folder(); !made) return made;
    fs::path kernel =
        folder / (run_kernel_name(place->level, place->problem_id, place->sample_id) + "_kernel.py");
    if (auto written = write_file(kernel, turn->code); !written) return written;
    ++kernels;
    if (!turn->verdict || !correctness(*turn->verdict)) return {};
    place->verdict = *turn->verdict;
    place->verdict.launches.reset();  // most of a verdict's bytes, and not among the results
    results.push_back(std::move(*place));
    return {};
  }

  Result<> make_folder() const {
    std::error_code error;
    fs::create_directories(folder, error);
    return error ? fail(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()))
                 : Result<>();
  }
};

Result<exports::Exported> write_kernelbench(store::TraceReader& reader, const ExportFlags& flags) {
  KernelBenchRun run;
  run.folder = flags.output;
  while (true) {
    auto trace = reader.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) break;
    if (auto added = run.add(**trace); !added) return std::unexpected(added.error());
  }
  if (run.of_others > 0)
    fmt::print(stderr, "note: {} not of KernelBench and left out\n",
               counted(run.of_others, "trace is", "traces are"));
  if (run.kernels == 0)
    return fail(fmt::format("{} has no kernel for a task of KernelBench", flags.run),
                "the other formats have the tasks of all sources");
  if (auto written = write_kernelbench_results(flags.output, run.results); !written)
    return std::unexpected(written.error());
  return exports::Exported{.traces = run.kernels};
}

// "traces" of traces.run/, traces.run/run.db and traces.json.
std::string name_of_run(const std::string& given) {
  fs::path path = fs::absolute(given).lexically_normal();
  if (!path.has_filename() || path.filename() == "run.db") path = path.parent_path();
  return path.stem().string();
}

Result<exports::Exported> write_for_others(const ExportFlags& flags) {
  auto reader = store::open_run(flags.run);
  if (!reader) return std::unexpected(reader.error());
  if (flags.format == ExportFormat::atif) return exports::write_atif(**reader, flags.output, kw_version);
  if (flags.format == ExportFormat::kernelbench) return write_kernelbench(**reader, flags);
  return exports::write_inspect_log(**reader, flags.output, {name_of_run(flags.run), kw_version});
}

}  // namespace

Result<> check_new_folder(const ExportFlags& flags) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(flags.output, error)) ||
      (fs::is_directory(flags.output, error) && fs::is_empty(flags.output, error)))
    return {};
  return fail(fmt::format("--output {} exists", flags.output), "give the name of a new folder");
}

int export_for_others(const ExportFlags& flags) {
  if (auto good = check_flags_of_others(flags); !good) {
    complain(good.error());
    return exit_usage;
  }
  if (auto may = check_replaced(flags); !may) return failed(may.error());
  auto written = write_for_others(flags);
  if (!written) return failed(written.error());
  if (written->traces == 0)
    return failed(
        Error{fmt::format("{} has no finished trace for --format {}", flags.run, to_string(flags.format)),
              "continue the run, then export it"});
  if (flags.quiet) return 0;
  fmt::print("{}: {}\n", counted(written->traces, "trace"), flags.output);
  if (written->not_ended > 0) fmt::print("left out: {} that have not ended\n", written->not_ended);
  if (written->without_any > 0)
    fmt::print("left out: {} without a prompt and an answer\n", written->without_any);
  return 0;
}

}  // namespace kw::app
