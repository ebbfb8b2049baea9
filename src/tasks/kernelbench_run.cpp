#include "tasks/kernelbench_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/files.h"
#include "tasks/sources.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

// Takes "word" and the number after it off the front.
std::optional<int> take_number(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return {};
  text.remove_prefix(word.size());
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool holds_kernels(const fs::path& folder) {
  std::error_code error;
  return std::ranges::any_of(fs::directory_iterator(folder, error), [](const auto& entry) {
    return run_kernel_of(entry.path().string()).has_value();
  });
}

class RunSource : public JobSource {
 public:
  RunSource(std::vector<RunKernel> kernels, KernelBenchTasks tasks)
      : kernels_(std::move(kernels)), tasks_(std::move(tasks)) {}

  std::optional<std::size_t> total() const override { return tasks_.errors().size() + kernels_.size(); }

  Result<std::optional<JobOrError>> next() override {
    if (error_at_ < tasks_.errors().size()) return tasks_.errors()[error_at_++];
    if (at_ == kernels_.size()) return std::nullopt;
    const RunKernel& kernel = kernels_[at_++];
    auto job = read(kernel);
    if (!job) return RowError{kernel.path, 0, job.error().what, job.error().remedy};
    return std::move(*job);
  }

 private:
  Result<Job> read(const RunKernel& kernel) const {
    auto task = tasks_.find(kernel.level, kernel.problem_id);
    if (!task) return std::unexpected(task.error());
    auto code = read_text_file(kernel.path);
    if (!code) return std::unexpected(code.error());
    Job job;
    job.id = fmt::format("level_{}_problem_{}_sample_{}", kernel.level, kernel.problem_id, kernel.sample_id);
    job.sample_number = static_cast<std::size_t>(kernel.sample_id);
    job.task = std::move(*task);
    job.candidate.code = std::move(*code);
    job.carried = {
        {"level", kernel.level}, {"problem_id", kernel.problem_id}, {"sample_id", kernel.sample_id}};
    return job;
  }

  std::vector<RunKernel> kernels_;
  KernelBenchTasks tasks_;
  std::size_t error_at_ = 0;  // bad rows of a table of tasks come first
  std::size_t at_ = 0;
};

}  // namespace

std::optional<RunKernel> run_kernel_of(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  std::string_view text = name;
  auto level = take_number(text, "level_");
  auto problem = level ? take_number(text, "_problem_") : std::nullopt;
  auto sample = problem ? take_number(text, "_sample_") : std::nullopt;
  if (!sample || *sample < 0 || text != "_kernel.py") return {};
  return RunKernel{*level, *problem, *sample, path};
}

Result<std::string> find_run_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail(fmt::format("{} is not a folder", folder), "give a KernelBench run folder, runs/NAME");
  if (holds_kernels(folder)) return folder;
  std::vector<std::string> runs;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error) && holds_kernels(entry.path())) runs.push_back(entry.path().string());
  std::ranges::sort(runs);
  if (runs.size() == 1) return runs.front();
  if (runs.empty())
    return fail(fmt::format("{} has no kernels of a run", folder),
                "their names are like level_1_problem_19_sample_0_kernel.py");
  return fail(fmt::format("{} has {} runs", folder, runs.size()),
              fmt::format("give one of them: {} ...", runs.front()));
}

Result<std::vector<RunKernel>> list_run(const std::string& folder) {
  auto run = find_run_folder(folder);
  if (!run) return std::unexpected(run.error());
  std::vector<RunKernel> kernels;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*run, error))
    if (auto kernel = run_kernel_of(entry.path().string())) kernels.push_back(*kernel);
  std::ranges::sort(kernels);
  return kernels;
}

Result<std::unique_ptr<JobSource>> kernelbench_run_source(const std::string& run_folder,
                                                          KernelBenchTasks tasks) {
  auto kernels = list_run(run_folder);
  if (!kernels) return std::unexpected(kernels.error());
  return std::make_unique<RunSource>(std::move(*kernels), std::move(tasks));
}

}  // namespace kw
