#include "tasks/open.h"

#include <fmt/format.h>

#include "base/text.h"
#include "tasks/sources.h"

namespace kw {
namespace {

// The first non-blank character decides between a list and lines. A file that is one object over many lines
// is refused by the first row's error.
Result<bool> starts_a_list(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  while (true) {
    auto line = lines->next();
    if (!line) return std::unexpected(line.error());
    if (!*line || (*line)->too_long) return false;
    std::string_view text = trim((*line)->text);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (!text.empty()) return text.front() == '[';
  }
}

Result<bool> is_parquet(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  auto line = lines->next();
  if (!line) return std::unexpected(line.error());
  return path.ends_with(".parquet") || (*line && (*line)->text.starts_with("PAR1"));
}

// A file without rows is an error of its own: it is hardly what was meant.
class NotEmpty : public RowReader {
 public:
  explicit NotEmpty(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {}
  const std::string& file() const override { return rows_->file(); }
  std::optional<std::size_t> total() const override { return rows_->total(); }

  Result<std::optional<RowOrError>> next() override {
    auto row = rows_->next();
    if (row && !*row && !any_) return fail(fmt::format("{} has no rows", file()), "is it the right file?");
    any_ = true;
    return row;
  }

 private:
  std::unique_ptr<RowReader> rows_;
  bool any_ = false;
};

Result<std::unique_ptr<RowReader>> not_empty(Result<std::unique_ptr<RowReader>> rows) {
  if (!rows) return rows;
  return std::make_unique<NotEmpty>(std::move(*rows));
}

Result<std::unique_ptr<JobSource>> open_run(const std::string& path, const OpenOptions& options) {
  if (options.kernelbench.empty())
    return fail(fmt::format("{} is a KernelBench run, and its tasks are not given", path),
                "give them with --kernelbench DIR, a checkout of KernelBench");
  auto tasks = KernelBenchTasks::open(options.kernelbench, options.helper);
  if (!tasks) return std::unexpected(tasks.error());
  return kernelbench_run_source(path, std::move(*tasks));
}

// One file after another, each opened when its turn comes.
class TableFolder : public JobSource {
 public:
  TableFolder(const std::string& folder, OpenOptions options)
      : files_(tables_in(folder, options.helper)), options_(std::move(options)) {
    options_.kind.reset();
  }

  Result<std::optional<JobOrError>> next() override {
    while (true) {
      if (!current_) {
        if (at_ == files_.size()) return std::optional<JobOrError>();
        auto opened = open_source(files_[at_++], options_);
        if (!opened) return std::unexpected(opened.error());
        current_ = std::move(*opened);
      }
      auto job = current_->next();
      if (!job || *job) return job;
      current_.reset();
    }
  }

 private:
  std::vector<std::string> files_;
  OpenOptions options_;
  std::unique_ptr<JobSource> current_;
  std::size_t at_ = 0;
};

Result<std::unique_ptr<JobSource>> open_kind(const std::string& path, InputKind kind,
                                             const OpenOptions& options) {
  switch (kind) {
    case InputKind::pairs:
      return pair_folder_source(path);
    case InputKind::tables:
      return std::make_unique<TableFolder>(path, options);
    case InputKind::kernelbench_run:
      return open_run(path, options);
    case InputKind::kernelbench_checkout:
    case InputKind::kernelbench_table:
      return fail(fmt::format("{} holds KernelBench tasks, but no kernels", path),
                  "give it with --kernelbench, and the kernels with --kernelbench-run DIR");
    case InputKind::source:
      return fail(fmt::format("{} is one source file", path), "give two: REFERENCE.py KERNEL.py");
    case InputKind::references:
      return fail(fmt::format("{} holds references, but no kernels", path), "give a folder of pairs");
    case InputKind::traces:
    case InputKind::batch:
    case InputKind::kernelbook:
      break;
  }
  auto rows = open_rows(path, options.helper);
  if (!rows) return std::unexpected(rows.error());
  if (kind == InputKind::traces) return trace_source(std::move(*rows));
  if (kind == InputKind::kernelbook) return kernelbook_source(std::move(*rows));
  return batch_source(std::move(*rows));
}

}  // namespace

Result<std::unique_ptr<RowReader>> open_rows(const std::string& path, const ParquetHelper& helper,
                                             const std::string& columns) {
  auto parquet = is_parquet(path);
  if (!parquet) return std::unexpected(parquet.error());
  if (*parquet) return not_empty(read_parquet(path, helper, columns));
  auto list = starts_a_list(path);
  if (!list) return std::unexpected(list.error());
  return not_empty(*list ? read_json_list(path) : read_jsonl(path));
}

Result<std::unique_ptr<JobSource>> open_source(const std::string& path, const OpenOptions& options) {
  if (options.kind) return open_kind(path, *options.kind, options);
  auto kind = recognise(path, options.helper);
  if (!kind) return std::unexpected(kind.error());
  return open_kind(path, *kind, options);
}

}  // namespace kw
