#include "train/recipe/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/core/toml.h"
#include "base/core/words.h"
#include "train/recipe/keys.h"

namespace kw::recipe {
namespace {

std::optional<std::vector<std::string>> names_of(const toml::array& list) {
  std::vector<std::string> names;
  for (const auto& item : list) {
    const auto* text = item.as_string();
    if (text == nullptr) return {};
    names.push_back(text->get());
  }
  return names;
}

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* truth = node.as_boolean()) return truth->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* list = node.as_array())
    if (auto names = names_of(*list)) return *names;
  return {};
}

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Result<> table(const toml::table& table, const std::string& above) {
    for (const auto& [key, node] : table) {
      std::string path = above + std::string(key.str());
      const auto* below = node.as_table();
      auto read = below != nullptr ? this->table(*below, path + ".") : entry(path, key, node);
      if (!read) return read;
    }
    return {};
  }

  std::vector<Entry> take() {
    std::ranges::sort(entries_, {}, &Entry::line);
    return std::move(entries_);
  }

 private:
  Result<> entry(const std::string& path, const toml::key& key, const toml::node& node) {
    std::size_t line = key.source().begin.line;
    auto value = value_of(node);
    if (!value)
      return fail(fmt::format("{}:{}: {} has a value of an unsupported type", name_, line, path),
                  "give a string, a number, true or false, or a list of strings");
    entries_.push_back({path, line, std::move(*value)});
    return {};
  }

  std::string_view name_;
  std::vector<Entry> entries_;
};

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Accepts "a,b" and TOML's ["a", "b"].
std::vector<std::string> split_names(std::string_view word) {
  word = trim(word);
  if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  std::vector<std::string> names;
  while (true) {
    std::size_t comma = word.find(',');
    std::string_view name = trim(word.substr(0, comma));
    if (name.size() >= 2 && name.starts_with('"') && name.ends_with('"'))
      name = name.substr(1, name.size() - 2);
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    word.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<std::vector<Entry>> read_entries(std::string_view toml, std::string_view name) {
  if (nests_too_deeply(toml))
    return fail(fmt::format("{}: key nested too deeply", name), "give the file of a recipe");
  toml::parse_result parsed = toml::parse(toml);
  if (!parsed)
    return fail(
        fmt::format("{}:{}: {}", name, parsed.error().source().begin.line, parsed.error().description()),
        "the file must be TOML: key = value, strings in quotes");
  Reader reader(name);
  if (auto read = reader.table(parsed.table(), ""); !read) return std::unexpected(read.error());
  return reader.take();
}

Value read_word(std::string_view word, const Key& key) {
  if (std::holds_alternative<Names>(key.kind)) return split_names(word);
  if (std::holds_alternative<Choice>(key.kind)) return std::string(word);
  if (word == "true" || word == "false") return word == "true";
  if (auto whole = number<std::int64_t>(word)) return *whole;
  if (auto real = number<double>(word)) return *real;
  return std::string(word);
}

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
    // In a file, a key must be in its section: rank = 8 under [training] is an error.
    if (key && (*key)->path() != entry.path)
      return at_line({fmt::format("{} is not in its section [{}]", entry.path, (*key)->section),
                      fmt::format("move it below the line [{}]", (*key)->section)});
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
