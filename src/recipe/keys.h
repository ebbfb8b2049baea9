// The keys of a recipe: where each is kept, and what it may be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "recipe/recipe.h"

namespace kw::recipe {

// A value as a file or --set gives it.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

// Numbers between least and most, both allowed.
struct Whole {
  std::int64_t& (*at)(Recipe&);
  std::int64_t least;
  std::int64_t most;
};
// Not reached: least where `above` says so, and most where `below` does.
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

// All of them in the order in which they are written.
const std::vector<Key>& keys();

// The key of "lora.rank", or of "rank" where one section alone has it; an error names the nearest.
Result<const Key*> find_key(std::string_view path);

Value value_of(const Key& key, const Recipe& recipe);

// An error says what the key takes. A whole number does for a real one.
Result<> assign(const Key& key, const Value& value, Recipe& recipe);

// A value as TOML, which a reader of ours takes back to the same value.
std::string toml_text(const Value& value);

}  // namespace kw::recipe
