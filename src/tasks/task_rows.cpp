#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "schema/json.h"
#include "tasks/open.h"
#include "tasks/row_task.h"
#include "tasks/task_sources.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

// The columns of KernelBook that a task is made of; its kernels are three quarters of the table.
constexpr const char* kernelbook_columns =
    "python_code,entry_point,module_name,uuid,licenses,license,repo_link,repo_name";

class RowTasks : public TaskSource {
 public:
  RowTasks(std::unique_ptr<RowReader> rows, std::function<Result<Task>(const Row&)> to_task)
      : rows_(std::move(rows)), to_task_(std::move(to_task)) {}
  std::optional<std::size_t> total() const override { return rows_->total(); }

  Result<std::optional<TaskOrError>> next() override {
    auto row = rows_->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return std::nullopt;
    if (auto* error = std::get_if<RowError>(&**row)) return std::move(*error);
    const Row& good = std::get<Row>(**row);
    auto task = to_task_(good);
    if (!task) return row_error(*rows_, good.number, task.error());
    if (trim(task->reference_code).empty())
      return row_error(*rows_, good.number,
                       {"the reference is empty", "give its source, or leave the row out"});
    return TaskItem{std::move(*task), 0};
  }

 private:
  std::unique_ptr<RowReader> rows_;
  std::function<Result<Task>(const Row&)> to_task_;
};

Result<TaskSourcePtr> kernelbook_table(const std::string& file, const ParquetHelper& helper) {
  auto rows = open_rows(file, helper, kernelbook_columns);
  if (!rows) return std::unexpected(rows.error());
  return row_tasks(std::move(*rows), kernelbook_task);
}

}  // namespace

TaskSourcePtr row_tasks(std::unique_ptr<RowReader> rows, std::function<Result<Task>(const Row&)> to_task) {
  return number_occurrences(std::make_unique<RowTasks>(std::move(rows), std::move(to_task)));
}

Result<TaskSourcePtr> kernelbook_tasks(const std::vector<std::string>& files, const ParquetHelper& helper) {
  if (files.size() == 1) return kernelbook_table(files.front(), helper);
  std::vector<TaskSourcePtr> tables;
  for (const std::string& file : files)
    tables.push_back(open_later([file, helper] { return kernelbook_table(file, helper); }));
  return number_occurrences(join(std::move(tables)));
}

Result<std::vector<std::string>> kernelbook_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files = parquet_files_below(path);
  // The hub's data set names its rows under permissive licences so; its other files hold them again.
  auto preferred = std::ranges::find_if(files, [](const std::string& file) {
    return fs::path(file).filename() == "dataset_permissive.parquet";
  });
  if (preferred != files.end()) return std::vector{*preferred};
  if (files.empty())
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  if (files.empty())
    return fail(path + " holds no KernelBook rows", "give a .parquet or .jsonl file, or a folder with some");
  std::ranges::sort(files);
  return files;
}

Result<TaskSourcePtr> trace_tasks(const std::string& path, const ParquetHelper& helper) {
  auto rows = open_rows(path, helper);
  if (!rows) return std::unexpected(rows.error());
  return row_tasks(std::move(*rows), [](const Row& row) { return trace_task(row.fields); });
}

Result<TaskSourcePtr> batch_tasks(const std::string& path, const ParquetHelper& helper) {
  auto rows = open_rows(path, helper);
  if (!rows) return std::unexpected(rows.error());
  return row_tasks(std::move(*rows), [folder = fs::path(path).parent_path()](const Row& row) {
    auto task = batch_task(row.fields, folder);
    if (task && task->sample_key.empty()) task->sample_key = text_at(row.fields, "id").value_or("");
    return task;
  });
}

}  // namespace kw
