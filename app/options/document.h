// Reads TOML as a list of settings, one per key. No other file sees the TOML parser.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw {

struct Setting {
  enum class Kind { text, number, boolean, list, object };

  std::string key;  // as in the file
  std::size_t line = 0;
  Kind kind = Kind::text;
  std::vector<std::string> texts;  // as on a command line: one, or a list's; an object as JSON
};

// Whether a table of this name is a value; other tables only group keys.
using IsObject = std::function<bool(std::string_view name)>;

// Every setting of the file in the order of its lines, from all tables. An error names file and line.
Result<std::vector<Setting>> read_settings(const std::filesystem::path& file, const IsObject& is_object);

// Keys and values as TOML; values are booleans, numbers, strings and lists of them.
std::string write_settings(const boost::json::object& values);

}  // namespace kw
