#include "mcp/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/core/display.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/words.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;
using Kind = Argument::Kind;

constexpr std::size_t longest_shown = 80;

json::object schema_of(const Argument& argument) {
  json::object schema;
  switch (argument.kind) {
    case Kind::text:
      schema["type"] = "string";
      if (argument.words.empty())
        schema["maxLength"] = argument.most_bytes;
      else
        schema["enum"] = json::array(argument.words.begin(), argument.words.end());
      break;
    case Kind::flag:
      schema["type"] = "boolean";
      break;
    case Kind::whole:
      schema["type"] = "integer";
      schema["minimum"] = argument.least;
      schema["maximum"] = argument.most;
      break;
    case Kind::object:
      schema["type"] = "object";
      if (argument.properties.empty()) break;
      schema["properties"] = argument.properties;
      schema["additionalProperties"] = false;
      break;
  }
  schema["description"] = argument.description;
  return schema;
}

Result<> check_text(const Argument& argument, const json::value& value) {
  if (!value.is_string())
    return fail(fmt::format("`{}` is no text", argument.name),
                fmt::format("give {}: {}", argument.name, argument.description));
  const std::string_view text = value.get_string();
  if (text.size() > argument.most_bytes)
    return fail(
        fmt::format("`{}` has {} bytes, the limit is {}", argument.name, text.size(), argument.most_bytes),
        "shorten it");
  if (argument.words.empty() || std::ranges::find(argument.words, text) != argument.words.end()) return {};
  return fail(fmt::format("`{}` is \"{}\"", argument.name, visible_line(shorten(text, longest_shown))),
              fmt::format("give one of {}", fmt::join(argument.words, ", ")));
}

Result<> check(const Argument& argument, const json::value& value) {
  switch (argument.kind) {
    case Kind::text:
      return check_text(argument, value);
    case Kind::flag:
      if (value.is_bool()) return {};
      return fail(fmt::format("`{}` is neither true nor false", argument.name), "give a boolean");
    case Kind::whole: {
      auto number = integer_of(value);
      if (number && *number >= argument.least && *number <= argument.most) return {};
      return fail(
          fmt::format("`{}` is no whole number from {} to {}", argument.name, argument.least, argument.most),
          "give such a number");
    }
    case Kind::object:
      if (value.is_object()) return {};
      return fail(fmt::format("`{}` is no object", argument.name),
                  "give a JSON object, not a text that contains one");
  }
  return {};
}

}  // namespace

json::object Arguments::schema() const {
  json::object properties;
  json::array required;
  for (const Argument& argument : arguments_) {
    properties[argument.name] = schema_of(argument);
    if (argument.is_required) required.emplace_back(argument.name);
  }
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"type", "object"},
                      {"properties", std::move(properties)},
                      {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

const Argument* Arguments::find(std::string_view name) const {
  auto found = std::ranges::find(arguments_, name, &Argument::name);
  return found == arguments_.end() ? nullptr : &*found;
}

std::string Arguments::names() const {
  std::vector<std::string_view> names;
  for (const Argument& argument : arguments_) names.emplace_back(argument.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

Result<json::object> Arguments::read(const json::object& given) const {
  json::object read;
  for (const auto& [key, value] : given) {
    const std::string name(key);
    const Argument* argument = find(name);
    if (argument == nullptr) {
      std::vector<std::string> known;
      for (const Argument& each : arguments_) known.push_back(each.name);
      const std::string near = nearest(name, known);
      return fail(fmt::format("{} has no argument `{}`", tool_, visible_line(shorten(name, longest_shown))),
                  fmt::format("{}its arguments are: {}",
                              near.empty() ? "" : fmt::format("did you mean `{}`? ", near), names()));
    }
    if (value.is_null()) continue;
    if (auto good = check(*argument, value); !good) return std::unexpected(good.error());
    read.emplace(key, value);
  }
  for (const Argument& argument : arguments_)
    if (argument.is_required && !read.contains(argument.name))
      return fail(fmt::format("{} needs the argument `{}`", tool_, argument.name), argument.description);
  return read;
}

}  // namespace kw::mcp
