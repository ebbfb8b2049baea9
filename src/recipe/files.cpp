#include "recipe/files.h"

#include <fmt/format.h>

#include "base/files.h"
#include "recipe/keys.h"
#include "recipe/toml_reader.h"

namespace kw::recipe {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

struct AsJson {
  boost::json::value operator()(const std::vector<std::string>& names) const {
    return boost::json::array(names.begin(), names.end());
  }
  template <typename T>
  boost::json::value operator()(const T& plain) const {
    return boost::json::value(plain);
  }
};

}  // namespace

Result<Recipe> read_recipe(const std::filesystem::path& file) {
  auto text = read_text_file(file, max_file_bytes);
  if (!text) return std::unexpected(text.error());
  return parse_recipe(*text, file.string());
}

Result<Recipe> parse_recipe(std::string_view toml, std::string_view name) {
  auto entries = read_entries(toml, name);
  if (!entries) return std::unexpected(entries.error());
  Recipe recipe;
  for (const Entry& entry : *entries) {
    auto at_line = [&](Error error) {
      return fail(fmt::format("{}:{}: {}", name, entry.line, error.what), std::move(error.remedy));
    };
    auto key = find_key(entry.path);
    // A file groups its keys: rank = 8 under [training] is a mistake.
    if (key && (*key)->path() != entry.path)
      return at_line({fmt::format("{} stands outside of [{}]", entry.path, (*key)->section),
                      fmt::format("write [{}] above it", (*key)->section)});
    if (!key) return at_line(key.error());
    if (auto assigned = assign(**key, entry.value, recipe); !assigned) return at_line(assigned.error());
  }
  return recipe;
}

Result<> set(Recipe& recipe, std::string_view assignment) {
  std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return fail(fmt::format("--set {} has no value", assignment), "write it as training.epochs=2");
  auto named = [](Error error) { return fail("--set: " + error.what, std::move(error.remedy)); };
  auto key = find_key(assignment.substr(0, equals));
  if (!key) return named(key.error());
  auto assigned = assign(**key, read_word(assignment.substr(equals + 1), **key), recipe);
  if (!assigned) return named(assigned.error());
  return {};
}

std::string to_toml(const Recipe& recipe) {
  std::string text;
  std::string_view section;
  for (const Key& key : keys()) {
    if (key.section != section) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", key.section);
    section = key.section;
    text += fmt::format("{} = {}\n", key.name, toml_text(value_of(key, recipe)));
  }
  return text;
}

boost::json::object to_json(const Recipe& recipe) {
  boost::json::object all;
  for (const Key& key : keys()) {
    boost::json::value& section = all[key.section];
    if (!section.is_object()) section.emplace_object();
    section.get_object()[key.name] = std::visit(AsJson{}, value_of(key, recipe));
  }
  return all;
}

std::vector<std::string> differences(const Recipe& before, const Recipe& after) {
  std::vector<std::string> lines;
  for (const Key& key : keys()) {
    Value old = value_of(key, before);
    Value now = value_of(key, after);
    if (old != now) lines.push_back(fmt::format("{}: {} -> {}", key.path(), toml_text(old), toml_text(now)));
  }
  return lines;
}

}  // namespace kw::recipe
