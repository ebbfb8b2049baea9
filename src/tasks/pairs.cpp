#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "extraction/extraction.h"
#include "tasks/row_task.h"
#include "tasks/sources.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view reference_name = "reference.py";

struct Pair {
  fs::path reference;
  fs::path kernel;
  fs::path shapes;  // empty: none
};

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

bool is_kernel_of(const fs::path& file, const std::string& prefix) {
  std::string name = file.filename().string();
  return name.starts_with(prefix + "kernel") && (name.ends_with(".py") || is_completion_file(name));
}

void add_pairs(const fs::path& folder, std::vector<Pair>& pairs) {
  std::vector<fs::path> files = files_in(folder);
  for (const fs::path& file : files) {
    std::string name = file.filename().string();
    if (!name.ends_with(reference_name)) continue;
    std::string prefix = name.substr(0, name.size() - reference_name.size());
    fs::path shapes = folder / (prefix + "shapes.json");
    std::error_code error;
    if (!fs::exists(shapes, error)) shapes.clear();
    for (const fs::path& kernel : files)
      if (is_kernel_of(kernel, prefix)) pairs.push_back({file, kernel, shapes});
  }
}

JobOrError read(const fs::path& folder, const Pair& pair) {
  PairOptions options;
  if (!pair.shapes.empty()) {
    auto shapes = read_text_file(pair.shapes);
    if (!shapes) return RowError{pair.shapes.string(), 0, shapes.error().what, shapes.error().remedy};
    options.input_shapes = *shapes;
  }
  auto job = read_pair(pair.reference.string(), pair.kernel.string(), options);
  if (!job) return RowError{pair.kernel.string(), 0, job.error().what, job.error().remedy};
  job->id = pair.kernel.lexically_relative(folder).replace_extension().generic_string();
  return std::move(*job);
}

class ListSource : public JobSource {
 public:
  explicit ListSource(std::vector<JobOrError> jobs) : jobs_(std::move(jobs)) {}
  std::optional<std::size_t> total() const override { return jobs_.size(); }

  Result<std::optional<JobOrError>> next() override {
    if (at_ == jobs_.size()) return std::nullopt;
    JobOrError& next = jobs_[at_++];
    if (auto* job = std::get_if<Job>(&next)) job->sample_number = occurrences_.next(job->task.task_id);
    return std::move(next);
  }

 private:
  std::vector<JobOrError> jobs_;
  std::size_t at_ = 0;
  Occurrences occurrences_;
};

}  // namespace

Result<Job> read_pair(const std::string& reference, const std::string& kernel, const PairOptions& options) {
  auto reference_code = read_text_file(reference);
  if (!reference_code) return std::unexpected(reference_code.error());
  auto kernel_code = read_text_file(kernel);
  if (!kernel_code) return std::unexpected(kernel_code.error());
  if (!options.input_shapes.empty())
    if (auto good = check_input_shapes(options.input_shapes); !good) return std::unexpected(good.error());
  Job job;
  job.id = fs::path(kernel).stem().string();
  job.task.source = "pair";
  job.task.name = fs::path(reference).stem().string();
  job.task.reference_code = std::move(*reference_code);
  job.task.input_shapes = options.input_shapes;
  job.task.entry_point = options.entry_point;
  job.task.task_id = hashed_task_id(job.task.reference_code, job.task.input_shapes, job.task.entry_point);
  job.candidate.code = is_completion_file(kernel) ? extract_code(*kernel_code) : std::move(*kernel_code);
  job.candidate.kernel_name = options.kernel_name;
  return job;
}

Result<std::unique_ptr<JobSource>> pair_folder_source(const std::string& folder) {
  std::vector<Pair> pairs;
  add_pairs(folder, pairs);
  std::vector<fs::path> subfolders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error)) subfolders.push_back(entry.path());
  std::ranges::sort(subfolders);
  for (const fs::path& subfolder : subfolders) add_pairs(subfolder, pairs);
  if (pairs.empty())
    return fail(fmt::format("{} holds no pairs", folder),
                "a pair is NAME_reference.py and NAME_kernel.py in one folder");
  std::vector<JobOrError> jobs;
  for (const Pair& pair : pairs) jobs.push_back(read(folder, pair));
  return list_source(std::move(jobs));
}

std::unique_ptr<JobSource> list_source(std::vector<JobOrError> jobs) {
  return std::make_unique<ListSource>(std::move(jobs));
}

}  // namespace kw
