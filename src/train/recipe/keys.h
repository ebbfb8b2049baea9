// The keys of a recipe, with their members and allowed values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "train/recipe/recipe.h"

namespace kw::recipe {

// A value from a file or --set.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

// Numbers from least to most, inclusive.
struct Whole {
  std::int64_t& (*at)(Recipe&);
  std::int64_t least;
  std::int64_t most;
};
// `above` excludes least; `below` excludes most.
struct Real {
  double& (*at)(Recipe&);
  double least;
  double most;
  bool above = false;
  bool below = false;
};
struct Flag {
  bool& (*at)(Recipe&);
};
struct Choice {
  std::string& (*at)(Recipe&);
  std::vector<std::string> words;
};
// A list of names, at least one.
struct Names {
  std::vector<std::string>& (*at)(Recipe&);
};

struct Key {
  std::string_view section;
  std::string_view name;
  std::variant<Whole, Real, Flag, Choice, Names> kind;

  std::string path() const;     // "lora.rank"
  std::string allowed() const;  // "a whole number from 1 to 1024"
};

// All keys, in the order of a written recipe.
const std::vector<Key>& keys();

// Finds "lora.rank" or "rank"; an error suggests the nearest key.
Result<const Key*> find_key(std::string_view path);

Value value_of(const Key& key, const Recipe& recipe);

// Sets the key. An error states the allowed values. A whole number is accepted for a real one.
Result<> assign(const Key& key, const Value& value, Recipe& recipe);

// A value as TOML; reading it returns the same value.
std::string toml_text(const Value& value);

}  // namespace kw::recipe
