// Folders of sources: references with their kernels, or references alone.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/core/files.h"
#include "base/core/standard_input.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "loop/tasks/entries.h"
#include "loop/tasks/readers.h"
#include "types/job.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view reference_stem = "reference";

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error);
}

// "scale_add_" of scale_add_reference.py; nothing for other names.
std::optional<std::string> pair_prefix(const fs::path& file) {
  std::string stem = file.stem().string();
  if (file.extension() != ".py" || !stem.ends_with(reference_stem)) return {};
  return stem.substr(0, stem.size() - reference_stem.size());
}

bool is_kernel_of(const fs::path& file, const std::string& prefix) {
  return file.filename().string().starts_with(prefix + "kernel");
}

bool is_hidden(const fs::path& path) {
  std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with("__");
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// The folder, then its direct subfolders by name.
std::vector<fs::path> folders_of(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  folders.insert(folders.begin(), folder);
  return folders;
}

struct Pair {
  fs::path reference;
  fs::path kernel;
  fs::path shapes;  // empty: none
};

void add_pairs(const fs::path& folder, std::vector<Pair>& pairs) {
  std::vector<fs::path> files = files_in(folder);
  for (const fs::path& file : files) {
    auto prefix = pair_prefix(file);
    if (!prefix) continue;
    fs::path shapes = folder / (*prefix + "shapes.json");
    if (!is_there(shapes)) shapes.clear();
    for (const fs::path& kernel : files)
      if (is_kernel_of(kernel, *prefix) &&
          (kernel.extension() == ".py" || is_completion_file(kernel.string())))
        pairs.push_back({file, kernel, shapes});
  }
}

std::vector<Pair> pairs_in(const std::string& folder) {
  std::vector<Pair> pairs;
  for (const fs::path& one : folders_of(folder)) add_pairs(one, pairs);
  return pairs;
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
  auto named = name_pair(*job, pair.reference.string(), pair.kernel.string(), false, pair.shapes.filename());
  if (!named) return RowError{pair.kernel.string(), 0, named.error().what, named.error().remedy};
  job->id = pair.kernel.lexically_relative(folder).replace_extension().generic_string();
  return std::move(*job);
}

Result<std::string> read_source(const std::string& path) {
  if (!is_standard_input(path)) return read_text_file(path);
  auto copy = standard_input();
  if (!copy) return std::unexpected(copy.error());
  auto text = read_text_file(*copy);
  if (!text) return std::unexpected(about_standard_input(text.error(), *copy));
  return text;
}

// The name that a file gives to its kernel or task.
std::string name_of(const std::string& path) {
  return is_standard_input(path) ? "stdin" : fs::path(path).stem().string();
}

std::string shown_name(const std::string& path) {
  return is_standard_input(path) ? shown_path(path) : fs::path(path).filename().string();
}

// The file that describes a reference's inputs; empty: none.
fs::path shapes_beside(const fs::path& file) {
  if (fs::path own = fs::path(file).replace_extension(".shapes.json"); is_there(own)) return own;
  if (auto prefix = pair_prefix(file))
    if (fs::path shared = file.parent_path() / (*prefix + "shapes.json"); is_there(shared)) return shared;
  return {};
}

bool makes_inputs(const fs::path& file) {
  auto text = read_file(file, largest_source_bytes);
  return text && text->find("get_inputs") != std::string::npos;
}

void add_references(const fs::path& folder, std::vector<fs::path>& found) {
  std::vector<fs::path> sources = files_in(folder);
  std::erase_if(sources, [](const fs::path& file) { return file.extension() != ".py" || is_hidden(file); });
  auto is_kernel = [&](const fs::path& file) {
    return std::ranges::any_of(sources, [&](const fs::path& other) {
      auto prefix = pair_prefix(other);
      return prefix && is_kernel_of(file, *prefix);
    });
  };
  for (const fs::path& file : sources)
    if (!is_kernel(file) && (!shapes_beside(file).empty() || makes_inputs(file))) found.push_back(file);
}

std::vector<fs::path> references_in(const std::string& folder) {
  std::vector<fs::path> found;
  for (const fs::path& one : folders_of(folder))
    if (one == folder || !is_hidden(one)) add_references(one, found);
  return found;
}

}  // namespace

Result<Job> read_pair(const std::string& reference, const std::string& kernel, const PairOptions& options) {
  auto reference_code = read_source(reference);
  if (!reference_code) return std::unexpected(reference_code.error());
  auto kernel_code = read_source(kernel);
  if (!kernel_code) return std::unexpected(kernel_code.error());
  if (!options.input_shapes.empty())
    if (auto good = check_input_shapes(options.input_shapes); !good) return std::unexpected(good.error());
  Job job;
  job.id = name_of(kernel);
  job.task.source = "pair";
  job.task.name = name_of(reference);
  job.task.reference_code = std::move(*reference_code);
  if (!is_standard_input(reference)) job.task.origin = {reference, 1, false};
  job.task.input_shapes = options.input_shapes;
  job.task.entry_point = options.entry_point;
  job.task.task_id = hashed_task_id(job.task.reference_code, job.task.input_shapes, job.task.entry_point);
  job.candidate.code = is_completion_file(kernel) ? extract_code(*kernel_code) : *kernel_code;
  if (!is_standard_input(kernel)) job.candidate.origin = origin_in(kernel, *kernel_code, job.candidate.code);
  job.candidate.kernel_name = options.kernel_name;
  job.candidate.entry = options.kernel_entry;
  return job;
}

Result<> name_pair(Job& job, const std::string& reference, const std::string& kernel, bool by_hand,
                   const std::string& where) {
  PairNames names{shown_name(reference), shown_name(kernel), by_hand, is_completion_file(kernel)};
  if (auto found = find_entries(job, names); !found) return found;
  job.task.task_id = hashed_task_id(job.task.reference_code, job.task.input_shapes, job.task.entry_point);
  return check_shape_names(job.task, where);
}

bool holds_pairs(const std::string& folder) {
  return !pairs_in(folder).empty();
}

SourcePtr pair_source(const std::string& folder) {
  std::vector<JobOrError> items;
  for (const Pair& pair : pairs_in(folder)) items.push_back(read(folder, pair));
  return number_occurrences(job_list(std::move(items)));
}

Result<Job> read_reference(const std::string& path) {
  auto code = read_text_file(path, largest_source_bytes);
  if (!code) return std::unexpected(code.error());
  if (trim(*code).empty()) return fail(fmt::format("{} is empty", path), "give a PyTorch reference");
  Job job;
  Task& task = job.task;
  fs::path shapes = shapes_beside(path);
  if (shapes.empty() && code->find("get_inputs") == std::string::npos)
    return fail(fmt::format("{} does not say what its inputs are", path),
                fmt::format("define get_inputs() in it, or write {} beside it",
                            fs::path(path).filename().replace_extension(".shapes.json").string()));
  if (!shapes.empty()) {
    auto text = read_text_file(shapes);
    if (!text) return std::unexpected(text.error());
    task.input_shapes = trim(*text);
    if (auto good = check_input_shapes(task.input_shapes); !good)
      return fail(fmt::format("{}: {}", shapes.string(), good.error().what), good.error().remedy);
  }
  task.source = "folder";
  task.name = fs::path(path).stem().string();
  task.sample_key = task.name;
  task.reference_code = std::move(*code);
  find_reference_entry(task);
  if (auto good = check_shape_names(task, shapes.filename()); !good) return std::unexpected(good.error());
  task.task_id = hashed_task_id(task.reference_code, task.input_shapes, task.entry_point);
  return job;
}

bool holds_references(const std::string& folder) {
  return !references_in(folder).empty();
}

SourcePtr reference_source(const std::string& folder) {
  std::vector<JobOrError> items;
  for (const fs::path& file : references_in(folder)) {
    auto job = read_reference(file.string());
    if (!job) {
      items.emplace_back(RowError{file.string(), 0, job.error().what, job.error().remedy});
      continue;
    }
    job->task.sample_key = file.lexically_relative(folder).replace_extension().generic_string();
    items.emplace_back(std::move(*job));
  }
  return number_occurrences(job_list(std::move(items)));
}

}  // namespace kw
