#include "recipe/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "base/toml_nesting.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

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
      return fail(fmt::format("{}:{}: {} has a value of a kind that no key takes", name_, line, path),
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

// "a,b", or as TOML has it: ["a", "b"].
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
    return fail(fmt::format("{}: a line with a thousand dots is nothing that a recipe has", name),
                "give a recipe's file");
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

}  // namespace kw::recipe
