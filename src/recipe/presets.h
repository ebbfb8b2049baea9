// Recipes that the program brings along: recipes/*.toml as they were when it was built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "recipe/recipe.h"

namespace kw::recipe {

std::vector<std::string> preset_names();

// A preset by its name, else a file by its path.
Result<Recipe> open_recipe(const std::string& name_or_file);

}  // namespace kw::recipe
