#include <fmt/format.h>

#include "schema/json.h"
#include "tasks/row_task.h"
#include "tasks/sources.h"

namespace kw {
namespace {

class KernelBookSource : public JobSource {
 public:
  explicit KernelBookSource(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {}
  std::optional<std::size_t> total() const override { return rows_->total(); }

  Result<std::optional<JobOrError>> next() override {
    auto row = rows_->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return std::nullopt;
    if (auto* error = std::get_if<RowError>(&**row)) return std::move(*error);
    const Row& good = std::get<Row>(**row);
    auto job = read(good);
    if (!job) return row_error(*rows_, good.number, job.error());
    return std::move(*job);
  }

 private:
  Result<Job> read(const Row& row) {
    Job job;
    auto task = kernelbook_task(row);
    if (!task) return std::unexpected(task.error());
    auto code = required_string(row.fields, "triton_code");
    if (!code) return std::unexpected(code.error());
    job.task = std::move(*task);
    job.id = job.task.sample_key;
    job.candidate.code = std::move(*code);
    job.sample_number = occurrences_.next(job.task.task_id);
    if (job.sample_number > 0) job.id += fmt::format("~{}", job.sample_number + 1);
    return job;
  }

  std::unique_ptr<RowReader> rows_;
  Occurrences occurrences_;
};

}  // namespace

Result<Task> kernelbook_task(const Row& row) {
  Task task;
  auto reference = required_string(row.fields, "python_code");
  if (!reference) return std::unexpected(reference.error());
  std::string uuid = text_at(row.fields, "uuid").value_or(fmt::format("{}", row.number));
  task.source = "kernelbook";
  task.task_id = kernelbook_task_id(uuid);
  task.sample_key = fmt::format("kernelbook_{}", uuid);
  task.reference_code = std::move(*reference);
  task.name = string_at(row.fields, "module_name").value_or("");
  task.entry_point = string_at(row.fields, "entry_point").value_or("");
  add_provenance(row.fields, task);
  return task;
}

std::unique_ptr<JobSource> kernelbook_source(std::unique_ptr<RowReader> rows) {
  return std::make_unique<KernelBookSource>(std::move(rows));
}

}  // namespace kw
