#include "train_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "recipe/files.h"
#include "recipe/presets.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

// "name" or "owner/name": what could as well be a folder that is not there.
bool could_be_on_the_hub(const std::string& given) {
  return !given.starts_with('.') && !given.starts_with('~') && !given.starts_with('/') &&
         !given.ends_with('/') && std::ranges::count(given, '/') <= 1;
}

Result<recipe::Recipe> recipe_of(const TrainFlags& flags) {
  auto recipe = recipe::open_recipe(flags.recipe);
  if (!recipe) return recipe;
  for (const std::string& change : flags.set)
    if (auto changed = recipe::set(*recipe, change); !changed) return std::unexpected(changed.error());
  return recipe;
}

}  // namespace

std::string folder_of(const std::string& given) {
  fs::path path = fs::absolute(given).lexically_normal();
  if (!path.has_filename() && path.has_parent_path() && path != path.root_path()) path = path.parent_path();
  return path.string();
}

Result<std::string> model_of(const std::string& given) {
  std::error_code error;
  if (fs::is_directory(given, error)) {
    if (!fs::exists(fs::path(given) / "config.json", error))
      return fail(fmt::format("--model {}: there is no config.json in it", given),
                  "name the folder of a model, with its weights and tokenizer");
    return folder_of(given);
  }
  if (fs::exists(given, error))
    return fail(fmt::format("--model {} is a file", given), "name the folder that it is in");
  if (could_be_on_the_hub(given)) return given;
  return fail(fmt::format("--model {}: there is no such folder", given),
              "name the folder of a model, or a model on the hub as owner/name");
}

Result<> check_words(const TrainFlags& flags) {
  for (const auto& [word, missing] : {std::pair{"--model", flags.model.empty()},
                                      {"--data", flags.data.empty()},
                                      {"--output", flags.output.empty() && !flags.dry_run}})
    if (missing)
      return fail(fmt::format("{} is missing", word),
                  "kernelwright train --model M --data F --output FOLDER; `--help` lists the rest");
  if (flags.dry_run && (flags.resume || flags.fresh || flags.push_to_hub))
    return fail("--dry-run trains nothing, so it takes no --resume, --fresh or --push-to-hub",
                "leave them away");
  return {};
}

Result<training::Job> train_job(const TrainFlags& flags) {
  training::Job job;
  auto recipe = recipe_of(flags);
  if (!recipe) return std::unexpected(recipe.error());
  auto model = model_of(flags.model);
  if (!model) return std::unexpected(model.error());
  auto data = training::look_at_files(flags.data);
  if (!data) return std::unexpected(data.error());
  job.model = std::move(*model);
  job.data = std::move(*data);
  if (!flags.output.empty()) job.output = folder_of(flags.output);
  job.engine = flags.engine;
  job.device = flags.device;
  job.memory_bytes = flags.memory_bytes;
  job.max_steps = flags.max_steps;
  job.resume = flags.resume;
  job.dry_run = flags.dry_run;
  job.push_to_hub = flags.push_to_hub;
  job.program = fmt::format("kernelwright {}", kw_version);
  job.recipe = std::move(*recipe);
  return job;
}

}  // namespace kw::app
