#include "recipe/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "recipe/files.h"
#include "recipe/preset_texts.h"

namespace kw::recipe {
namespace {

namespace fs = std::filesystem;

bool looks_like_a_file(const std::string& word) {
  std::error_code ignored;
  return word.find('/') != std::string::npos || word.ends_with(".toml") || fs::exists(word, ignored);
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const PresetText& preset : preset_texts()) names.emplace_back(preset.name);
  return names;
}

Result<Recipe> open_recipe(const std::string& name_or_file) {
  for (const PresetText& preset : preset_texts())
    if (preset.name == name_or_file) return parse_recipe(preset.toml, fmt::format("recipe {}", preset.name));
  if (looks_like_a_file(name_or_file)) return read_recipe(name_or_file);
  std::string near = nearest(name_or_file, preset_names());
  return fail(fmt::format("there is no recipe {}", name_or_file),
              near.empty() ? fmt::format("give one of {}, or a file.toml", fmt::join(preset_names(), ", "))
                           : fmt::format("do you mean {}? A file's name ends with .toml", near));
}

}  // namespace kw::recipe
