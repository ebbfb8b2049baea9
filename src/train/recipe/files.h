// Recipes as TOML and JSON, changes of single keys, and the built-in recipes, recipes/*.toml at build time.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "train/recipe/keys.h"
#include "train/recipe/recipe.h"

namespace kw::recipe {

// Reads TOML as a list of keys with values. No other file sees the TOML parser.
struct Entry {
  std::string path;  // "lora.rank"
  std::size_t line = 0;
  Value value;
};

// In the order of their lines. An error names `name` and the line.
Result<std::vector<Entry>> read_entries(std::string_view toml, std::string_view name);

// Converts a word of the command line to the key's type. Other text stays text, which assign() refuses with
// the original word.
Value read_word(std::string_view word, const Key& key);

// Reads TOML; missing keys keep their defaults. Errors begin with `name` and the line: an unknown key, a key
// in the wrong section, a value of the wrong type or out of range.
Result<Recipe> parse_recipe(std::string_view toml, std::string_view name);
Result<Recipe> read_recipe(const std::filesystem::path& file);

// Applies "training.learning_rate=2e-4" of --set. Strings need no quotes; commas separate names.
Result<> set(Recipe& recipe, std::string_view assignment);

// All keys as TOML, in the order of keys().
std::string to_toml(const Recipe& recipe);
boost::json::object to_json(const Recipe& recipe);

// "training.epochs: 1 -> 2" for each key that differs.
std::vector<std::string> differences(const Recipe& before, const Recipe& after);

struct PresetText {
  std::string_view name;
  std::string_view toml;
};

std::span<const PresetText> preset_texts();

// Built-in recipes: recipes/*.toml at build time.
std::vector<std::string> preset_names();

// A preset by its name, else a file by its path.
Result<Recipe> open_recipe(const std::string& name_or_file);

}  // namespace kw::recipe
