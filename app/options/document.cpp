#include "options/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/core/toml.h"

namespace kw {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return {};
}

std::string json_text(const toml::node& node) {
  std::ostringstream text;
  text << toml::json_formatter(node, toml::format_flags::none);
  return text.str();
}

class Reader {
 public:
  Reader(std::string file, const IsObject& is_object) : file_(std::move(file)), is_object_(is_object) {}

  Result<> table(const toml::table& table) {
    for (const auto& [name, node] : table) {
      const auto* below = node.as_table();
      auto read = below != nullptr && !is_object_(name.str()) ? this->table(*below) : setting(name, node);
      if (!read) return read;
    }
    return {};
  }

  std::vector<Setting> take() {
    std::ranges::sort(settings_, {}, &Setting::line);
    return std::move(settings_);
  }

 private:
  Result<> setting(const toml::key& name, const toml::node& node) {
    Setting setting{std::string(name.str()), name.source().begin.line, Setting::Kind::text, {}};
    bool known = true;
    if (node.is_table()) {
      setting.kind = Setting::Kind::object;
      setting.texts.push_back(json_text(node));
    } else if (const auto* list = node.as_array()) {
      setting.kind = Setting::Kind::list;
      for (const auto& item : *list) known = add(setting, item) && known;
    } else {
      if (node.is_number()) setting.kind = Setting::Kind::number;
      if (node.is_boolean()) setting.kind = Setting::Kind::boolean;
      known = add(setting, node);
    }
    if (!known)
      return fail(
          fmt::format("{}:{}: {} has a value of an unsupported type", file_, setting.line, setting.key),
          "give a string, a number, true or false, or a list of those");
    settings_.push_back(std::move(setting));
    return {};
  }

  static bool add(Setting& setting, const toml::node& node) {
    auto text = scalar_text(node);
    if (text) setting.texts.push_back(std::move(*text));
    return text.has_value();
  }

  std::string file_;
  const IsObject& is_object_;
  std::vector<Setting> settings_;
};

void put(toml::array& list, const boost::json::value& value);

// Calls put with the value in TOML's types; ignores null, which TOML does not have.
template <typename Put>
void with_toml(const boost::json::value& value, Put put_value) {
  if (value.is_bool()) put_value(value.get_bool());
  if (value.is_int64()) put_value(value.get_int64());
  if (value.is_double()) put_value(value.get_double());
  if (value.is_string()) put_value(std::string(value.get_string()));
  if (!value.is_array()) return;
  toml::array list;
  for (const auto& item : value.get_array()) put(list, item);
  put_value(std::move(list));
}

void put(toml::array& list, const boost::json::value& value) {
  with_toml(value, [&](auto item) { list.push_back(std::move(item)); });
}

}  // namespace

Result<std::vector<Setting>> read_settings(const std::filesystem::path& file, const IsObject& is_object) {
  auto text = read_text_file(file, max_file_bytes);
  if (!text) return std::unexpected(text.error());
  if (nests_too_deeply(*text))
    return fail(file.string() + ": key nested too deeply",
                "the file must be TOML: key = value, strings in quotes");
  toml::parse_result parsed = toml::parse(std::string_view(*text));
  if (!parsed)
    return fail(fmt::format("{}:{}: {}", file.string(), parsed.error().source().begin.line,
                            parsed.error().description()),
                "the file must be TOML: key = value, strings in quotes");
  Reader reader(file.string(), is_object);
  if (auto read = reader.table(parsed.table()); !read) return std::unexpected(read.error());
  return reader.take();
}

std::string write_settings(const boost::json::object& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    // One table per key, since a table would sort the keys.
    toml::table line;
    with_toml(value, [&](auto item) { line.insert(std::string_view(key), std::move(item)); });
    if (line.empty()) continue;
    std::ostringstream written;
    written << toml::toml_formatter(line);
    text += written.str() + "\n";
  }
  return text;
}

}  // namespace kw
