#include "loop/tasks/kernelbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"
#include "code/answers/extraction.h"
#include "loop/tasks/readers.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

// Removes `word` and the number after it from the beginning of the text; returns the number.
std::optional<int> take_number(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return {};
  text.remove_prefix(word.size());
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<int> whole_number(std::string_view text) {
  auto number = take_number(text, "");
  return text.empty() ? number : std::nullopt;
}

// N of "levelN"; empty for other names.
std::optional<int> level_of(std::string_view name) {
  auto level = take_number(name, "level");
  return name.empty() ? level : std::nullopt;
}

// 19 of "19_ReLU.py".
std::optional<int> problem_of(const fs::path& file) {
  if (file.extension() != ".py") return {};
  std::string name = file.stem().string();
  return whole_number(std::string_view(name).substr(0, name.find('_')));
}

std::vector<std::pair<int, fs::path>> level_folders(const fs::path& folder) {
  std::vector<std::pair<int, fs::path>> levels;
  std::error_code error;
  if (auto level = level_of(fs::absolute(folder).lexically_normal().filename().string()))
    levels.emplace_back(*level, folder);
  for (const fs::path& base : {folder, folder / "KernelBench"})
    for (const auto& entry : fs::directory_iterator(base, error))
      if (auto level = level_of(entry.path().filename().string()); level && entry.is_directory(error))
        levels.emplace_back(*level, entry.path());
  return levels;
}

// A source or an answer of a model whose name is a problem's.
struct ProblemKernel {
  std::optional<int> level;  // of the folder levelN in which it lies
  fs::path path;
};

bool is_source(const fs::path& file) {
  return file.extension() == ".py" || is_completion_file(file.string());
}

// "ReLU" of "19_ReLU".
std::string_view without_number(std::string_view name) {
  std::size_t first = name.find_first_not_of("0123456789");
  return first != 0 && first != std::string_view::npos && name[first] == '_' ? name.substr(first + 1) : name;
}

// 19 of "19" and "19_ReLU".
std::optional<int> number_of(std::string_view stem) {
  return whole_number(stem.substr(0, stem.find('_')));
}

// __init__.py, hidden files and README.md lie beside kernels.
bool is_no_kernel(const fs::path& file) {
  std::string name = file.filename();
  return name.starts_with("__") || name.starts_with('.') || name.starts_with("README");
}

void add_problem_kernels(const fs::path& folder, std::optional<int> level,
                         std::vector<ProblemKernel>& found) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error) && is_source(entry.path()) && !is_no_kernel(entry.path()))
      found.push_back({level, entry.path()});
}

std::vector<ProblemKernel> problem_kernels(const fs::path& folder) {
  std::vector<ProblemKernel> found;
  auto levels = level_folders(folder);
  for (const auto& [level, path] : levels) add_problem_kernels(path, level, found);
  if (std::ranges::find(levels, folder, &std::pair<int, fs::path>::second) == levels.end())
    add_problem_kernels(folder, {}, found);
  std::ranges::sort(found, {}, &ProblemKernel::path);
  return found;
}

bool holds_kernels(const fs::path& folder) {
  std::error_code error;
  return std::ranges::any_of(fs::directory_iterator(folder, error), [](const auto& entry) {
    return run_kernel_of(entry.path().string()).has_value();
  });
}

// The kernels of a run; a kernel without a path stands for its task alone.
class KernelBenchSource : public Source {
 public:
  KernelBenchSource(KernelBenchTasks tasks, std::vector<RunKernel> kernels)
      : tasks_(std::move(tasks)), kernels_(std::move(kernels)) {}
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
    Job job;
    job.task = std::move(*task);
    if (kernel.path.empty()) return job;
    auto code = read_text_file(kernel.path);
    if (!code) return std::unexpected(code.error());
    job.id = run_kernel_name(kernel.level, kernel.problem_id, kernel.sample_id);
    job.sample_number = static_cast<std::size_t>(kernel.sample_id);
    job.candidate.code = std::move(*code);
    job.candidate.origin = {kernel.path, 1, false};
    job.carried = {
        {"level", kernel.level}, {"problem_id", kernel.problem_id}, {"sample_id", kernel.sample_id}};
    return job;
  }

  KernelBenchTasks tasks_;
  std::vector<RunKernel> kernels_;
  std::size_t error_at_ = 0;  // bad rows of a table of tasks come first
  std::size_t at_ = 0;
};

// Kernels named like the problems.
class ProblemKernelSource : public Source {
 public:
  ProblemKernelSource(fs::path folder, KernelBenchTasks tasks, std::vector<ProblemKernel> kernels)
      : folder_(std::move(folder)), tasks_(std::move(tasks)), kernels_(std::move(kernels)) {}
  std::optional<std::size_t> total() const override { return tasks_.errors().size() + kernels_.size(); }

  Result<std::optional<JobOrError>> next() override {
    if (error_at_ < tasks_.errors().size()) return tasks_.errors()[error_at_++];
    if (at_ == kernels_.size()) return std::nullopt;
    const ProblemKernel& kernel = kernels_[at_++];
    auto job = read(kernel);
    if (!job) return RowError{kernel.path.string(), 0, job.error().what, job.error().remedy};
    return std::move(*job);
  }

 private:
  Result<Job> read(const ProblemKernel& kernel) const {
    auto key = tasks_.match(kernel.path.stem().string(), kernel.level);
    if (!key) return std::unexpected(key.error());
    auto task = tasks_.find(key->first, key->second);
    if (!task) return std::unexpected(task.error());
    auto code = read_text_file(kernel.path);
    if (!code) return std::unexpected(code.error());
    Job job;
    job.task = std::move(*task);
    job.id = kernel.path.lexically_relative(folder_).replace_extension().generic_string();
    job.candidate.code = is_completion_file(kernel.path.string()) ? extract_code(*code) : *code;
    job.candidate.origin = origin_in(kernel.path.string(), *code, job.candidate.code);
    job.carried = {{"level", key->first}, {"problem_id", key->second}};
    return job;
  }

  fs::path folder_;
  KernelBenchTasks tasks_;
  std::vector<ProblemKernel> kernels_;
  std::size_t error_at_ = 0;  // bad rows of a table of tasks come first
  std::size_t at_ = 0;
};

std::string rank_of(const KernelBenchTasks::Key& key, std::uint64_t seed) {
  return random_rank(seed, kernelbench_task_id(fmt::format("{}", key.first), fmt::format("{}", key.second)),
                     0);
}

}  // namespace

bool is_kernelbench_checkout(const std::string& folder) {
  return !level_folders(folder).empty();
}

void KernelBenchTasks::scan_level(const std::string& folder, int level) {
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    auto problem = problem_of(file.path());
    if (!problem) continue;
    Entry entry;
    entry.path = file.path().string();
    entry.task.source = "kernelbench";
    entry.task.level = fmt::format("{}", level);
    entry.task.problem_id = fmt::format("{}", *problem);
    entry.task.name = file.path().stem().string();
    entry.task.task_id = kernelbench_task_id(entry.task.level, entry.task.problem_id);
    entries_.emplace(Key(level, *problem), std::move(entry));
  }
}

Result<KernelBenchTasks> KernelBenchTasks::from_checkout(const std::string& folder) {
  KernelBenchTasks tasks;
  tasks.where_ = folder;
  for (const auto& [level, path] : level_folders(folder)) tasks.scan_level(path.string(), level);
  if (tasks.entries_.empty())
    return fail(fmt::format("{} has no KernelBench problems", folder),
                "give a checkout's folder, with files like level1/19_ReLU.py in it or in KernelBench/");
  return tasks;
}

Result<> KernelBenchTasks::add_table(RowReader& rows) {
  if (where_.empty()) where_ = rows.file();
  while (true) {
    auto next = rows.next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return {};
    if (auto* error = std::get_if<RowError>(&**next)) {
      errors_.push_back(std::move(*error));
      continue;
    }
    const Row& row = std::get<Row>(**next);
    auto level = text_at(row.fields, "level").and_then(whole_number);
    auto problem = text_at(row.fields, "problem_id").and_then(whole_number);
    auto code = string_at(row.fields, "code");
    if (!level || !problem || !code) {
      errors_.push_back({rows.file(), row.number, "the row lacks code, level or problem_id",
                         "a KernelBench table has the columns code, level, name, problem_id"});
      continue;
    }
    Entry entry;
    entry.task.source = "kernelbench";
    entry.task.level = fmt::format("{}", *level);
    entry.task.problem_id = fmt::format("{}", *problem);
    entry.task.name = string_at(row.fields, "name").value_or("");
    entry.task.reference_code = std::move(*code);
    entry.task.task_id = kernelbench_task_id(entry.task.level, entry.task.problem_id);
    entries_.emplace(Key(*level, *problem), std::move(entry));
  }
}

Result<KernelBenchTasks> KernelBenchTasks::open(const std::string& path, const ParquetHelper& helper) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return from_tables({path}, helper);
  auto tables = is_kernelbench_checkout(path) ? std::vector<std::string>() : parquet_files_below(path);
  return tables.empty() ? from_checkout(path) : from_tables(tables, helper);
}

Result<KernelBenchTasks> KernelBenchTasks::from_tables(const std::vector<std::string>& paths,
                                                       const ParquetHelper& helper) {
  KernelBenchTasks tasks;
  for (const std::string& path : paths) {
    auto rows = open_rows(path, helper);
    if (!rows) return std::unexpected(rows.error());
    if (auto added = tasks.add_table(**rows); !added) return std::unexpected(added.error());
  }
  return tasks;
}

Result<Task> KernelBenchTasks::find(int level, int problem_id) const {
  auto found = entries_.find({level, problem_id});
  if (found == entries_.end())
    return fail(fmt::format("{} has no problem {} of level {}", where_, problem_id, level),
                "give the KernelBench tasks that the run was made of");
  Task task = found->second.task;
  if (found->second.path.empty()) return task;
  auto code = read_text_file(found->second.path);
  if (!code) return std::unexpected(code.error());
  task.reference_code = std::move(*code);
  task.origin = {found->second.path, 1, false};
  return task;
}

Result<KernelBenchTasks::Key> KernelBenchTasks::match(const std::string& stem,
                                                      std::optional<int> level) const {
  // From the strictest rule to the loosest; the first that fits any problem decides.
  using Rule = std::function<bool(const Key& key, const std::string& name)>;
  auto number = number_of(stem);
  const Rule rules[] = {[&](const Key&, const std::string& name) { return name == stem; },
                        [&](const Key&, const std::string& name) { return without_number(name) == stem; },
                        [&](const Key& key, const std::string&) { return key.second == number; }};
  for (const Rule& rule : rules) {
    std::vector<Key> found;
    for (const auto& [key, entry] : entries_)
      if (level.value_or(key.first) == key.first && rule(key, entry.task.name)) found.push_back(key);
    if (found.size() == 1) return found.front();
    if (found.empty()) continue;
    return fail(fmt::format("{} problems of {} fit the name {}", found.size(), where_, stem),
                "give one level with --kernelbench DIR/levelN, or put the kernels into folders levelN");
  }
  return fail(fmt::format("{} has no problem for the name {}", where_, stem),
              "name a kernel like its problem: 19_ReLU.py, ReLU.py or 19.py");
}

std::vector<KernelBenchTasks::Key> KernelBenchTasks::keys() const {
  std::vector<Key> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

std::string run_kernel_name(int level, int problem_id, int sample_id) {
  return fmt::format("level_{}_problem_{}_sample_{}", level, problem_id, sample_id);
}

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

SourcePtr kernelbench_tasks(KernelBenchTasks tasks, const KernelBenchSample& sample) {
  std::map<int, std::vector<KernelBenchTasks::Key>> by_level;
  for (const auto& key : tasks.keys())
    if (sample.levels.empty() || sample.levels.contains(key.first)) by_level[key.first].push_back(key);
  std::map<int, std::size_t> sizes;
  for (const auto& [level, keys] : by_level) sizes[level] = keys.size();

  std::vector<RunKernel> chosen;
  for (const auto& [level, share] : even_shares(sizes, sample.count)) {
    auto& keys = by_level[level];
    if (sample.at_random)
      std::ranges::sort(keys, {}, [&](const auto& key) { return rank_of(key, sample.seed); });
    for (std::size_t at = 0; at < share; ++at) chosen.push_back({level, keys[at].second, 0, ""});
  }
  std::ranges::sort(chosen);
  return std::make_unique<KernelBenchSource>(std::move(tasks), std::move(chosen));
}

Result<SourcePtr> kernelbench_run(const std::string& folder, KernelBenchTasks tasks) {
  auto run = find_run_folder(folder);
  if (!run) return std::unexpected(run.error());
  std::vector<RunKernel> kernels;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*run, error))
    if (auto kernel = run_kernel_of(entry.path().string())) kernels.push_back(*kernel);
  std::ranges::sort(kernels);
  return std::make_unique<KernelBenchSource>(std::move(tasks), std::move(kernels));
}

bool holds_problem_kernels(const std::string& folder) {
  return std::ranges::any_of(problem_kernels(folder), [](const ProblemKernel& kernel) {
    return number_of(kernel.path.stem().string()).has_value();
  });
}

SourcePtr kernelbench_kernels(const std::string& folder, KernelBenchTasks tasks) {
  auto kernels = problem_kernels(folder);
  return number_occurrences(
      std::make_unique<ProblemKernelSource>(folder, std::move(tasks), std::move(kernels)));
}

}  // namespace kw
