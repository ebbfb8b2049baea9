#include "tasks/kernelbench.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "base/files.h"
#include "schema/json.h"
#include "tasks/open.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
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

}  // namespace

std::optional<int> level_of(const std::string& folder_name) {
  constexpr std::string_view head = "level";
  if (!folder_name.starts_with(head)) return {};
  return whole_number(std::string_view(folder_name).substr(head.size()));
}

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
  return task;
}

std::vector<KernelBenchTasks::Key> KernelBenchTasks::keys() const {
  std::vector<Key> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

}  // namespace kw
