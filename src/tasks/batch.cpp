#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "extraction/extraction.h"
#include "schema/json.h"
#include "tasks/row_task.h"
#include "tasks/sources.h"

namespace kw {
namespace json = boost::json;
namespace {

constexpr std::size_t largest_source = std::size_t{16} << 20;

// Fields that become a part of task, candidate or verdict; all others are carried through.
constexpr std::string_view ours[] = {"id",          "reference_code",  "reference_path", "kernel_code",
                                     "kernel_path", "full_completion", "input_shapes",   "entry_point",
                                     "kernel_name", "task_id"};

class BatchSource : public JobSource {
 public:
  explicit BatchSource(std::unique_ptr<RowReader> rows)
      : rows_(std::move(rows)), folder_(std::filesystem::path(rows_->file()).parent_path()) {}

  std::optional<std::size_t> total() const override { return rows_->total(); }

  Result<std::optional<JobOrError>> next() override {
    auto row = rows_->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return std::nullopt;
    if (auto* error = std::get_if<RowError>(&**row)) return std::move(*error);
    Row& good = std::get<Row>(**row);
    auto job = read(good);
    if (!job) return row_error(*rows_, good.number, job.error());
    return std::move(*job);
  }

 private:
  Result<Job> read(Row& row) {
    Job job;
    auto id = new_id(row);
    if (!id) return std::unexpected(id.error());
    job.id = *id;
    auto task = batch_task(row.fields, folder_);
    if (!task) return std::unexpected(task.error());
    job.task = std::move(*task);
    auto code = read_kernel(row.fields);
    if (!code) return std::unexpected(code.error());
    job.candidate.code = std::move(*code);
    job.candidate.kernel_name = string_at(row.fields, "kernel_name").value_or("");
    job.sample_number = occurrences_.next(job.task.task_id);
    for (std::string_view key : ours) row.fields.erase(key);
    job.carried = std::move(row.fields);
    return job;
  }

  Result<std::string> new_id(const Row& row) {
    auto id = text_at(row.fields, "id");
    if (!id || id->empty()) return fail("the field \"id\" is missing", "give every row an id of its own");
    auto [first, is_new] = first_rows_.emplace(*id, row.number);
    if (!is_new)
      return fail(fmt::format("the id \"{}\" is that of row {} already", *id, first->second),
                  "give every row an id of its own");
    return *id;
  }

  Result<std::string> read_kernel(const json::object& row) {
    auto completion = string_at(row, "full_completion");
    bool has_code = string_at(row, "kernel_code") || string_at(row, "kernel_path");
    if (!has_code && completion) return extract_code(*completion);
    return code_or_path(row, "kernel_code", "kernel_path", folder_);
  }

  std::unique_ptr<RowReader> rows_;
  std::filesystem::path folder_;
  std::map<std::string, std::size_t> first_rows_;
  Occurrences occurrences_;
};

}  // namespace

Result<std::string> code_or_path(const json::object& row, std::string_view code, std::string_view path,
                                 const std::filesystem::path& folder) {
  if (auto text = string_at(row, code)) return *text;
  auto name = string_at(row, path);
  if (!name)
    return fail(fmt::format("neither \"{}\" nor \"{}\" is given as a string", code, path),
                "give one of them");
  auto text = read_text_file(folder / *name, largest_source);
  if (!text)
    return fail(fmt::format("{}: {}", path, text.error().what),
                text.error().remedy.empty() ? "paths are relative to the batch file" : text.error().remedy);
  return is_completion_file(*name) ? extract_code(*text) : std::move(*text);
}

Result<Task> batch_task(const json::object& row, const std::filesystem::path& folder) {
  Task task;
  auto reference = code_or_path(row, "reference_code", "reference_path", folder);
  if (!reference) return std::unexpected(reference.error());
  task.reference_code = std::move(*reference);
  auto shapes = input_shapes_of(row);
  if (!shapes) return std::unexpected(shapes.error());
  task.input_shapes = std::move(*shapes);
  task.source = string_at(row, "source").value_or("batch");
  task.level = text_at(row, "level").value_or("");
  task.name = string_at(row, "name").value_or("");
  task.entry_point = string_at(row, "entry_point").value_or("");
  name_task(row, task);
  add_provenance(row, task);
  return task;
}

std::unique_ptr<JobSource> batch_source(std::unique_ptr<RowReader> rows) {
  return std::make_unique<BatchSource>(std::move(rows));
}

}  // namespace kw
