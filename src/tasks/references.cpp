#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "tasks/row_task.h"
#include "tasks/task_sources.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view reference_stem = "reference";
constexpr std::size_t largest_source = std::size_t{16} << 20;

// "scale_add_" of scale_add_reference.py; nothing for other names.
std::optional<std::string> pair_prefix(const fs::path& file) {
  std::string stem = file.stem().string();
  if (file.extension() != ".py" || !stem.ends_with(reference_stem)) return {};
  return stem.substr(0, stem.size() - reference_stem.size());
}

// The file that says what the inputs are; empty: none.
fs::path shapes_beside(const fs::path& file) {
  std::error_code error;
  fs::path own = fs::path(file).replace_extension(".shapes.json");
  if (fs::exists(own, error)) return own;
  if (auto prefix = pair_prefix(file))
    if (fs::path shared = file.parent_path() / (*prefix + "shapes.json"); fs::exists(shared, error))
      return shared;
  return {};
}

bool makes_inputs(const fs::path& file) {
  auto text = read_file(file, largest_source);
  return text && text->find("get_inputs") != std::string::npos;
}

bool is_hidden(const fs::path& path) {
  std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with("__");
}

void add_references(const fs::path& folder, std::vector<std::string>& found) {
  std::vector<fs::path> sources;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".py" && !is_hidden(entry.path()) && entry.is_regular_file(error))
      sources.push_back(entry.path());
  auto is_kernel = [&](const fs::path& file) {
    return std::ranges::any_of(sources, [&](const fs::path& other) {
      auto prefix = pair_prefix(other);
      return prefix && file.filename().string().starts_with(*prefix + "kernel");
    });
  };
  std::ranges::sort(sources);
  for (const fs::path& file : sources)
    if (!is_kernel(file) && (!shapes_beside(file).empty() || makes_inputs(file)))
      found.push_back(file.string());
}

}  // namespace

std::vector<std::string> reference_files(const std::string& folder) {
  std::vector<std::string> found;
  add_references(folder, found);
  std::vector<fs::path> subfolders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error) && !is_hidden(entry.path())) subfolders.push_back(entry.path());
  std::ranges::sort(subfolders);
  for (const fs::path& subfolder : subfolders) add_references(subfolder, found);
  return found;
}

Result<Task> read_reference(const std::string& path) {
  auto code = read_text_file(path, largest_source);
  if (!code) return std::unexpected(code.error());
  if (trim(*code).empty()) return fail(fmt::format("{} is empty", path), "give a PyTorch reference");
  Task task;
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
  task.task_id = hashed_task_id(task.reference_code, task.input_shapes);
  return task;
}

TaskSourcePtr reference_tasks(const std::string& folder) {
  std::vector<TaskOrError> items;
  for (const std::string& file : reference_files(folder)) {
    auto task = read_reference(file);
    if (!task) {
      items.emplace_back(RowError{file, 0, task.error().what, task.error().remedy});
      continue;
    }
    task->sample_key = fs::path(file).lexically_relative(folder).replace_extension().generic_string();
    items.emplace_back(TaskItem{std::move(*task), 0});
  }
  return number_occurrences(task_list(std::move(items)));
}

}  // namespace kw
