#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "config/config.h"
#include "config/document.h"
#include "config/names.h"

namespace kw {
namespace {

namespace json = boost::json;

template <typename Number>
std::optional<Number> exactly(const std::string& text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // "007" and "1.0" stay text: a name could be written so.
  if (error != std::errc() || end != text.data() + text.size() || fmt::format("{}", number) != text)
    return {};
  return number;
}

json::value value_of(const std::string& text) {
  if (auto number = exactly<std::int64_t>(text)) return *number;
  if (auto number = exactly<double>(text); number && text.find_first_of("ni") == std::string::npos)
    return *number;
  return json::value(text);
}

bool is_secret(const std::string& name) {
  return name.find("key") != std::string::npos;
}

// A flag is on where its words came to what the flag itself stands for: "false" for a negated one.
bool is_on(const CLI::Option& option, const std::string& name) {
  if (option.count() == 0) return false;
  return CLI::detail::to_flag_value(option.get_flag_value(name, "true")) ==
         CLI::detail::to_flag_value(option.reduced_results().back());
}

std::optional<json::value> resolved(const CLI::Option& option, const std::string& name) {
  if (is_flag(option)) return is_on(option, name);
  if (is_list(option)) {
    if (option.count() == 0) return {};
    json::array list;
    for (const std::string& text : option.results()) list.push_back(value_of(text));
    return list;
  }
  std::string text = option.count() > 0 ? option.results().back() : option.get_default_str();
  if (text.empty() && option.count() == 0) return {};
  return value_of(text);
}

}  // namespace

json::object resolved_values(const CLI::App& verb) {
  json::object values;
  for (const CLI::Option* option : verb.get_options()) {
    std::string name = name_of(*option);
    if (!is_setting(*option) || is_secret(name)) continue;
    if (auto value = resolved(*option, name)) values[name] = std::move(*value);
  }
  return values;
}

std::string resolved_toml(const CLI::App& verb) {
  return write_settings(resolved_values(verb));
}

}  // namespace kw
