#include "train/job/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <filesystem>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "train/recipe/files.h"

namespace kw::training {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(folder / name, ignored);
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with("checkpoint-")) return true;
  return false;
}

bool has_results(const fs::path& folder) {
  return holds(folder, "adapter_model.safetensors") || holds(folder, "adapter_config.json") ||
         has_checkpoint(folder);
}

// Checks that no other training uses the folder.
Result<> check_free(const fs::path& folder) {
  Fd fd(::open((folder / output_file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return fail(fmt::format("another training uses {}", folder.string()),
              "wait until it has ended, or give another --output");
}

// Checks that the folder is empty or the output of a training.
Result<> check_owner(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail(fmt::format("--output {} is not a folder", folder.string()), "give the name of a folder");
  if (fs::is_empty(folder, error) || holds(folder, job_file)) return {};
  if (error) return fail(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  return fail(
      fmt::format("--output {} contains files that `kernelwright train` did not write", folder.string()),
      "give the name of a new folder");
}

}  // namespace

Result<> check_output(const Job& job, Start start) {
  fs::path folder(job.output);
  std::error_code error;
  if (!fs::exists(folder, error)) return {};
  if (auto ours = check_owner(folder); !ours) return ours;
  if (auto free = check_free(folder); !free) return free;
  if (start == Start::anew && has_results(folder))
    return fail(fmt::format("{} holds an adapter or checkpoints", job.output),
                "continue with --resume, rename the folder with --fresh, or give another --output");
  if (start == Start::resume && has_results(folder)) return check_same(job);
  return {};
}

Result<> prepare_output(const Job& job, Start start) {
  fs::path folder(job.output);
  std::error_code error;
  if (start == Start::fresh && fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    int number = 1;
    auto aside = [&] { return fs::path(fmt::format("{}.{}", job.output, number)); };
    while (fs::exists(aside(), error)) ++number;
    fs::rename(folder, aside(), error);
    if (error)
      return fail(fmt::format("cannot rename {} to {}: {}", job.output, aside().string(), error.message()),
                  "give another --output");
  }
  fs::create_directories(folder, error);
  if (error)
    return fail(fmt::format("cannot make the folder {}: {}", job.output, error.message()),
                "give an --output that you can write to");
  if (auto written = write_file(folder / recipe_file, recipe::to_toml(job.recipe)); !written) return written;
  return write_file(folder / job_file, boost::json::serialize(to_json(job)) + "\n");
}

Result<Fd> open_output_file(const fs::path& folder) {
  fs::path path = folder / output_file;
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("another training uses {}", folder.string()),
                "wait until it has ended, or give another --output");
  return fd;
}

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_job_bytes = std::size_t{64} << 20;

std::unexpected<Error> damaged(const fs::path& file, const std::string& why) {
  return fail(fmt::format("cannot resume: {} is damaged: {}", file.string(), why),
              "--fresh renames the folder and starts a new training");
}

Result<json::object> read_job(const fs::path& file) {
  auto text = read_text_file(file, max_job_bytes);
  if (!text) return damaged(file, text.error().what);
  auto value = parse_json(*text);
  if (!value) return damaged(file, value.error().what);
  if (!value->is_object()) return damaged(file, "not a JSON object");
  return std::move(value->get_object());
}

struct Named {
  std::string path;
  std::string sha256;
};

std::vector<Named> files_of(const json::object& job, std::string_view key) {
  std::vector<Named> files;
  const json::value* list = job.if_contains(key);
  if (list == nullptr || !list->is_array()) return files;
  for (const json::value& each : list->get_array())
    if (each.is_object())
      files.push_back({string_at(each.get_object(), "path").value_or("?"),
                       string_at(each.get_object(), "sha256").value_or("")});
  return files;
}

void compare_files(const char* what, const std::vector<Named>& before, const std::vector<DataFile>& files,
                   std::vector<std::string>& lines) {
  if (before.size() != files.size())
    lines.push_back(fmt::format("{}: {} files -> {} files", what, before.size(), files.size()));
  for (std::size_t i = 0; i < std::min(before.size(), files.size()); ++i) {
    const DataFile& now = files[i];
    if (before[i].sha256 == now.sha256) continue;
    lines.push_back(before[i].path == now.path
                        ? fmt::format("{}: the contents of {} have changed", what, now.path)
                        : fmt::format("{}: {} -> {}", what, before[i].path, now.path));
  }
}

std::string words(std::optional<double> steps) {
  return steps ? fmt::format("{:.0f}", *steps) : "not given";
}

// The schedule of the learning rate depends on the number of steps, so it must not change.
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

  // These settings do not affect the result.
  recipe->training.save_every = job.recipe.training.save_every;
  recipe->training.keep = job.recipe.training.keep;
  recipe->training.log_every = job.recipe.training.log_every;
  std::vector<std::string> lines = recipe::differences(*recipe, job.recipe);
  std::string model = string_at(*before, "model").value_or("?");
  if (model != job.model) lines.push_back(fmt::format("--model: {} -> {}", model, job.model));
  compare_files("data", files_of(*before, "files"), job.data, lines);
  compare_files("validation", files_of(*before, "validation_files"), job.validation, lines);
  compare_steps(*before, job, lines);
  if (lines.empty()) return {};
  return fail(fmt::format("cannot resume {}: these settings have changed:\n  {}", job.output,
                          fmt::join(lines, "\n  ")),
              "resume with the original settings, or start a new training with --fresh or another --output");
}

}  // namespace kw::training
