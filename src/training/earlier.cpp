#include "training/earlier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/files.h"
#include "recipe/files.h"
#include "schema/json.h"
#include "training/output_folder.h"

namespace kw::training {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_job_bytes = std::size_t{64} << 20;

std::unexpected<Error> damaged(const fs::path& file, const std::string& why) {
  return fail(fmt::format("cannot resume: {} is damaged: {}", file.string(), why),
              "--fresh starts anew and sets the folder aside");
}

Result<json::object> read_job(const fs::path& file) {
  auto text = read_text_file(file, max_job_bytes);
  if (!text) return damaged(file, text.error().what);
  auto value = parse_json(*text);
  if (!value) return damaged(file, value.error().what);
  if (!value->is_object()) return damaged(file, "it is no object");
  return std::move(value->get_object());
}

struct Named {
  std::string path;
  std::string sha256;
};

std::vector<Named> files_of(const json::object& job) {
  std::vector<Named> files;
  const json::value* list = job.if_contains("files");
  if (list == nullptr || !list->is_array()) return files;
  for (const json::value& each : list->get_array())
    if (each.is_object())
      files.push_back({string_at(each.get_object(), "path").value_or("?"),
                       string_at(each.get_object(), "sha256").value_or("")});
  return files;
}

void compare_files(const std::vector<Named>& before, const Job& job, std::vector<std::string>& lines) {
  if (before.size() != job.data.size())
    lines.push_back(fmt::format("data: {} files -> {} files", before.size(), job.data.size()));
  for (std::size_t i = 0; i < std::min(before.size(), job.data.size()); ++i) {
    const DataFile& now = job.data[i];
    if (before[i].sha256 == now.sha256) continue;
    lines.push_back(before[i].path == now.path
                        ? fmt::format("data: {} has other contents than before", now.path)
                        : fmt::format("data: {} -> {}", before[i].path, now.path));
  }
}

std::string words(std::optional<double> steps) {
  return steps ? fmt::format("{:.0f}", *steps) : "not given";
}

// The schedule of the learning rate stretches over the steps, so another count is another training.
void compare_steps(const json::object& before, const Job& job, std::vector<std::string>& lines) {
  auto old = number_at(before, "max_steps");
  std::optional<double> now;
  if (job.max_steps) now = static_cast<double>(*job.max_steps);
  if (old != now) lines.push_back(fmt::format("--max-steps: {} -> {}", words(old), words(now)));
}

}  // namespace

Result<> check_same(const Job& job) {
  fs::path folder(job.output);
  auto before = read_job(folder / job_file);
  if (!before) return std::unexpected(before.error());
  auto recipe = recipe::read_recipe(folder / recipe_file);
  if (!recipe) return damaged(folder / recipe_file, recipe.error().what);

  // These change nothing about what is learnt.
  recipe->training.save_every = job.recipe.training.save_every;
  recipe->training.keep = job.recipe.training.keep;
  recipe->training.log_every = job.recipe.training.log_every;
  std::vector<std::string> lines = recipe::differences(*recipe, job.recipe);
  std::string model = string_at(*before, "model").value_or("?");
  if (model != job.model) lines.push_back(fmt::format("--model: {} -> {}", model, job.model));
  compare_files(files_of(*before), job, lines);
  compare_steps(*before, job, lines);
  if (lines.empty()) return {};
  return fail(
      fmt::format("cannot resume {}: it was trained with\n  {}", job.output, fmt::join(lines, "\n  ")),
      "resume with what it was started with, or start anew: --fresh, or another --output");
}

}  // namespace kw::training
