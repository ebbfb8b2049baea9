#include "loop/tasks/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/core/standard_input.h"
#include "loop/tasks/kernelbench.h"
#include "loop/tasks/readers.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr const char* expected_kernels =
    "expected are recorded traces (.json), a batch (.jsonl), KernelBench or KernelBook rows or the rows "
    "trace "
    "and torch2triton of a data set (.jsonl, .parquet), a KernelBench run folder or a folder of kernels like "
    "19_ReLU.py with --kernelbench DIR, a "
    "folder of pairs, or REFERENCE.py KERNEL.py";

constexpr const char* expected_tasks =
    "expected are recorded traces (.json), a batch (.jsonl), KernelBench or KernelBook rows or the rows "
    "trace "
    "and torch2triton of a data set (.jsonl, .parquet), a KernelBench checkout, or one reference (.py) or a "
    "folder of them, with get_inputs or NAME.shapes.json "
    "beside";

// The columns of KernelBook that a task needs. The kernels are three quarters of the table.
constexpr const char* kernelbook_task_columns =
    "python_code,entry_point,module_name,uuid,licenses,license,repo_link,repo_name";

template <SourcePtr read(std::unique_ptr<RowReader>, Wanted)>
Result<SourcePtr> open_table(const std::string& path, const OpenOptions& options) {
  auto rows = open_rows(path, options.helper);
  if (!rows) return std::unexpected(rows.error());
  return read(std::move(*rows), options.wanted);
}

Result<SourcePtr> open_kernelbook(const std::string& path, const OpenOptions& options) {
  auto rows = open_rows(path, options.helper, options.wanted == Wanted::tasks ? kernelbook_task_columns : "");
  if (!rows) return std::unexpected(rows.error());
  return kernelbook_source(std::move(*rows), options.wanted);
}

Result<SourcePtr> open_kernelbench(const std::string& path, const OpenOptions& options) {
  if (options.wanted == Wanted::kernels)
    return fail(fmt::format("{} holds KernelBench tasks, but no kernels", path),
                "give it with --kernelbench, and the kernels with --kernelbench-run DIR");
  auto tasks = KernelBenchTasks::open(path, options.helper);
  if (!tasks) return std::unexpected(tasks.error());
  return kernelbench_tasks(std::move(*tasks), {});
}

Result<SourcePtr> open_run(const std::string& path, const OpenOptions& options) {
  if (options.wanted == Wanted::tasks)
    return fail(fmt::format("{} holds the kernels of a run, and no tasks", path),
                "give the tasks that it was made of with --kernelbench DIR");
  if (options.kernelbench.empty())
    return fail(fmt::format("{} is a KernelBench run, and its tasks are not given", path),
                "give them with --kernelbench DIR, a checkout of KernelBench");
  auto tasks = KernelBenchTasks::open(options.kernelbench, options.helper);
  if (!tasks) return std::unexpected(tasks.error());
  return kernelbench_run(path, std::move(*tasks));
}

Result<SourcePtr> open_problem_kernels(const std::string& path, const OpenOptions& options) {
  auto tasks = KernelBenchTasks::open(options.kernelbench, options.helper);
  if (!tasks) return std::unexpected(tasks.error());
  return kernelbench_kernels(path, std::move(*tasks));
}

Result<SourcePtr> open_tables(const std::string& path, const OpenOptions& options) {
  std::vector<SourcePtr> tables;
  for (const auto& [file, kind] : tables_in(path, options.wanted, options.helper)) {
    OpenOptions own = options;
    own.kind = kind;
    tables.push_back(open_later([file, own] { return open_source(file, own); }));
  }
  return join(std::move(tables));
}

Result<SourcePtr> open_file(const std::string& path, const OpenOptions& options) {
  if (options.wanted == Wanted::kernels)
    return fail(fmt::format("{} is one source file", path),
                "give a folder or a file of pairs; `verify` also takes two: REFERENCE.py KERNEL.py");
  auto reference = read_reference(path);
  if (!reference) return std::unexpected(reference.error());
  return job_list({std::move(*reference)});
}

template <SourcePtr read(const std::string& folder)>
Result<SourcePtr> open_folder(const std::string& path, const OpenOptions&) {
  return read(path);
}

template <bool fits(const std::string& folder)>
bool is_folder(const std::string& path, Wanted, const ParquetHelper&) {
  return fits(path);
}

bool is_run(const std::string& folder) {
  return find_run_folder(folder).has_value();
}

bool has_tables(const std::string& path, Wanted wanted, const ParquetHelper& helper) {
  return !tables_in(path, wanted, helper).empty();
}

// How a format is recognised and read.
struct Format {
  InputKind kind;
  std::optional<Wanted> only;  // the purpose for which it is recognised; empty: both
  // Whether a folder has this format; null: none has.
  bool (*fits_folder)(const std::string& path, Wanted wanted, const ParquetHelper& helper);
  std::array<std::string_view, 2> fields;  // required in a row; empty: the format has no rows
  Result<SourcePtr> (*open)(const std::string& path, const OpenOptions& options);
  // What a row has to fulfil besides; null: nothing.
  bool (*fits_row)(const boost::json::object& row) = nullptr;
};

// The first matching entry decides.
constexpr Format formats[] = {
    {InputKind::kernelbench_run, {}, is_folder<is_run>, {}, open_run},
    {InputKind::kernelbench_kernels, {}, nullptr, {}, open_problem_kernels},
    {InputKind::kernelbench_checkout, {}, is_folder<is_kernelbench_checkout>, {}, open_kernelbench},
    {InputKind::pairs, Wanted::kernels, is_folder<holds_pairs>, {}, open_folder<pair_source>},
    {InputKind::tables, {}, has_tables, {}, open_tables},
    {InputKind::references, Wanted::tasks, is_folder<holds_references>, {}, open_folder<reference_source>},
    {InputKind::source, {}, nullptr, {}, open_file},
    {InputKind::traces, {}, nullptr, {"sample_key", "pytorch_code"}, open_table<trace_source>},
    {InputKind::dataset, {}, nullptr, {"completion", "kind"}, open_table<dataset_source>, has_dataset_kind},
    {InputKind::kernelbook, {}, nullptr, {"python_code", "triton_code"}, open_kernelbook},
    {InputKind::kernelbench_table, {}, nullptr, {"code", "problem_id"}, open_kernelbench},
    {InputKind::batch, {}, nullptr, {"reference_code"}, open_table<batch_source>},
    {InputKind::batch, {}, nullptr, {"reference_path"}, open_table<batch_source>},
    {InputKind::batch, {}, nullptr, {"kernel_code"}, open_table<batch_source>},
    {InputKind::batch, {}, nullptr, {"kernel_path"}, open_table<batch_source>},
    {InputKind::kernelbook, Wanted::tasks, nullptr, {"python_code"}, open_kernelbook},
};

bool may_serve(const Format& format, Wanted wanted) {
  return !format.only || format.only == wanted;
}

Result<InputKind> by_folder(const std::string& path, Wanted wanted, const ParquetHelper& helper) {
  std::error_code error;
  const fs::directory_iterator entries(path, error);
  if (error) return fail(fmt::format("cannot read {}: {}", path, error.message()));
  for (const Format& format : formats)
    if (may_serve(format, wanted) && format.fits_folder && format.fits_folder(path, wanted, helper))
      return format.kind;
  if (wanted == Wanted::tasks) return fail(fmt::format("the folder {} holds no tasks", path), expected_tasks);
  return fail(fmt::format("the folder {} holds nothing that can be judged", path), expected_kernels);
}

std::optional<InputKind> by_fields(const boost::json::object& row, Wanted wanted) {
  auto has = [&](std::string_view field) { return field.empty() || row.contains(field); };
  for (const Format& format : formats)
    if (may_serve(format, wanted) && !format.fields[0].empty() && std::ranges::all_of(format.fields, has) &&
        (!format.fits_row || format.fits_row(row)))
      return format.kind;
  return {};
}

// The first good row determines the format of the table. If all rows are bad, returns the first one's error.
Result<InputKind> by_rows(RowReader& rows, Wanted wanted) {
  const char* remedy = wanted == Wanted::kernels ? expected_kernels : expected_tasks;
  std::optional<RowError> first_error;
  for (int tried = 0; tried < 100; ++tried) {
    auto next = rows.next();
    if (!next) return std::unexpected(next.error());
    if (!*next) break;
    if (auto* error = std::get_if<RowError>(&**next)) {
      if (!first_error) first_error = std::move(*error);
      continue;
    }
    if (auto kind = by_fields(std::get<Row>(**next).fields, wanted)) return *kind;
    return fail(
        fmt::format("{}: the fields of row {} are not those of anything known", rows.file(), tried + 1),
        remedy);
  }
  if (first_error) return fail(describe(*first_error), remedy);
  return fail(fmt::format("{} has no rows", rows.file()), remedy);
}

bool has_kernels(InputKind kind) {
  return kind == InputKind::traces || kind == InputKind::batch || kind == InputKind::kernelbook ||
         kind == InputKind::dataset;
}

}  // namespace

Result<InputKind> recognise(const std::string& path, Wanted wanted, const ParquetHelper& helper) {
  std::error_code error;
  if (!is_standard_input(path) && !fs::exists(path, error))
    return fail(fmt::format("{} does not exist", path), "check the path");
  if (fs::is_directory(path, error)) return by_folder(path, wanted, helper);
  if (path.ends_with(".py") || path.ends_with(".md") || path.ends_with(".txt")) return InputKind::source;
  auto rows = open_rows(path, helper);
  if (!rows) return std::unexpected(rows.error());
  return by_rows(**rows, wanted);
}

std::vector<std::pair<std::string, InputKind>> tables_in(const std::string& folder, Wanted wanted,
                                                         const ParquetHelper& helper) {
  std::vector<std::pair<std::string, InputKind>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string suffix = entry.path().extension();
    if (suffix != ".json" && suffix != ".jsonl" && suffix != ".parquet") continue;
    auto kind = recognise(entry.path().string(), wanted, helper);
    if (kind && (wanted == Wanted::tasks || has_kernels(*kind)))
      found.emplace_back(entry.path().string(), *kind);
  }
  std::ranges::sort(found);
  return found;
}

Result<SourcePtr> open_source(const std::string& path, const OpenOptions& options) {
  // Beside tasks that are given, a folder that looks like a checkout holds kernels.
  bool is_folder_of_kernels = !options.kind && options.wanted == Wanted::kernels &&
                              !options.kernelbench.empty() && !is_run(path) && holds_problem_kernels(path);
  auto kind = options.kind           ? Result<InputKind>(*options.kind)
              : is_folder_of_kernels ? InputKind::kernelbench_kernels
                                     : recognise(path, options.wanted, options.helper);
  if (!kind) return std::unexpected(kind.error());
  return std::ranges::find(formats, *kind, &Format::kind)->open(path, options);
}

}  // namespace kw
