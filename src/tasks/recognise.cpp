#include "tasks/recognise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "tasks/kernelbench.h"
#include "tasks/kernelbench_run.h"
#include "tasks/open.h"
#include "tasks/sources.h"
#include "tasks/task_sources.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr const char* expected =
    "expected are recorded traces (.json), a batch (.jsonl), KernelBench or KernelBook rows (.jsonl, "
    ".parquet), a "
    "KernelBench checkout or run folder, a folder of pairs, or REFERENCE.py KERNEL.py";

constexpr const char* expected_tasks =
    "expected are recorded traces (.json), a batch (.jsonl), KernelBench or KernelBook rows (.jsonl, "
    ".parquet), a "
    "KernelBench checkout, or one reference (.py) or a folder of them, with get_inputs or NAME.shapes.json "
    "beside";

bool holds_jobs(InputKind kind) {
  return kind == InputKind::traces || kind == InputKind::batch || kind == InputKind::kernelbook;
}

Result<InputKind> by_folder(const std::string& path, const ParquetHelper& helper) {
  if (find_run_folder(path)) return InputKind::kernelbench_run;
  if (is_kernelbench_checkout(path)) return InputKind::kernelbench_checkout;
  if (pair_folder_source(path)) return InputKind::pairs;
  if (!tables_in(path, helper).empty()) return InputKind::tables;
  return fail(fmt::format("the folder {} holds nothing that can be judged", path), expected);
}

std::optional<InputKind> by_fields(const boost::json::object& row) {
  auto has = [&](std::string_view key) { return row.contains(key); };
  if (has("sample_key") && has("pytorch_code")) return InputKind::traces;
  if (has("python_code") && has("triton_code")) return InputKind::kernelbook;
  if (has("code") && has("problem_id")) return InputKind::kernelbench_table;
  if (has("reference_code") || has("reference_path") || has("kernel_code") || has("kernel_path"))
    return InputKind::batch;
  return {};
}

// KernelBook rows serve as tasks without kernels, too.
std::optional<InputKind> task_by_fields(const boost::json::object& row) {
  auto kind = by_fields(row);
  return !kind && row.contains("python_code") ? InputKind::kernelbook : kind;
}

using ByFields = std::optional<InputKind> (*)(const boost::json::object&);

// The first good row speaks for all; a table of nothing but bad rows says what is wrong with the first.
Result<InputKind> by_rows(RowReader& rows, ByFields kind_of, const char* remedy) {
  std::optional<RowError> first_error;
  for (int tried = 0; tried < 100; ++tried) {
    auto next = rows.next();
    if (!next) return std::unexpected(next.error());
    if (!*next) break;
    if (auto* error = std::get_if<RowError>(&**next)) {
      if (!first_error) first_error = std::move(*error);
      continue;
    }
    if (auto kind = kind_of(std::get<Row>(**next).fields)) return *kind;
    return fail(
        fmt::format("{}: the fields of row {} are not those of anything known", rows.file(), tried + 1),
        remedy);
  }
  if (first_error) return fail(describe(*first_error), remedy);
  return fail(fmt::format("{} has no rows", rows.file()), remedy);
}

}  // namespace

std::string_view to_string(InputKind kind) {
  constexpr std::array<std::string_view, 10> names{"recorded traces",        "a batch",
                                                   "KernelBench tasks",      "KernelBook rows",
                                                   "a KernelBench checkout", "a KernelBench run",
                                                   "a folder of pairs",      "a folder of tables",
                                                   "a source file",          "a folder of references"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<std::string> tables_in(const std::string& folder, const ParquetHelper& helper) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string suffix = entry.path().extension();
    if (suffix != ".json" && suffix != ".jsonl" && suffix != ".parquet") continue;
    auto kind = recognise(entry.path().string(), helper);
    if (kind && holds_jobs(*kind)) found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found;
}

Result<InputKind> recognise(const std::string& path, const ParquetHelper& helper) {
  std::error_code error;
  if (!fs::exists(path, error)) return fail(fmt::format("{} does not exist", path), "check the path");
  if (fs::is_directory(path, error)) return by_folder(path, helper);
  if (path.ends_with(".py") || path.ends_with(".md") || path.ends_with(".txt")) return InputKind::source;
  auto rows = open_rows(path, helper);
  if (!rows) return std::unexpected(rows.error());
  return by_rows(**rows, by_fields, expected);
}

std::vector<std::pair<std::string, InputKind>> task_tables_in(const std::string& folder,
                                                              const ParquetHelper& helper) {
  std::vector<std::pair<std::string, InputKind>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string suffix = entry.path().extension();
    if (suffix != ".json" && suffix != ".jsonl" && suffix != ".parquet") continue;
    if (auto kind = recognise_tasks(entry.path().string(), helper))
      found.emplace_back(entry.path().string(), *kind);
  }
  std::ranges::sort(found);
  return found;
}

Result<InputKind> recognise_tasks(const std::string& path, const ParquetHelper& helper) {
  std::error_code error;
  if (!fs::exists(path, error)) return fail(fmt::format("{} does not exist", path), "check the path");
  if (fs::is_directory(path, error)) {
    if (find_run_folder(path)) return InputKind::kernelbench_run;
    if (is_kernelbench_checkout(path)) return InputKind::kernelbench_checkout;
    if (!task_tables_in(path, helper).empty()) return InputKind::tables;
    if (!reference_files(path).empty()) return InputKind::references;
    return fail(fmt::format("the folder {} holds no tasks", path), expected_tasks);
  }
  if (path.ends_with(".py") || path.ends_with(".md") || path.ends_with(".txt")) return InputKind::source;
  auto rows = open_rows(path, helper);
  if (!rows) return std::unexpected(rows.error());
  return by_rows(**rows, task_by_fields, expected_tasks);
}

}  // namespace kw
