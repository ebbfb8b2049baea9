// Recipes as TOML and JSON, and changes of single keys.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "recipe/recipe.h"

namespace kw::recipe {

// TOML over the defaults: what it does not name stays as it is. `name` stands before errors, with the line.
// Errors: an unknown key, a key in the wrong section, a value of another kind or out of range.
Result<Recipe> parse_recipe(std::string_view toml, std::string_view name);
Result<Recipe> read_recipe(const std::filesystem::path& file);

// "training.learning_rate=2e-4", as --set takes it. Strings need no quotes; names are parted by commas.
Result<> set(Recipe& recipe, std::string_view assignment);

// Every key written out, in the order of keys().
std::string to_toml(const Recipe& recipe);
boost::json::object to_json(const Recipe& recipe);

// "training.epochs: 1 -> 2" for each key that differs.
std::vector<std::string> differences(const Recipe& before, const Recipe& after);

}  // namespace kw::recipe
