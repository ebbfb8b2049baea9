// TOML as this program uses it: settings of a verb, one a key. The parser stays behind this.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

struct Setting {
  enum class Kind { text, number, boolean, list, object };

  std::string key;  // as in the file
  std::size_t line = 0;
  Kind kind = Kind::text;
  std::vector<std::string> texts;  // as on a command line: one, or a list's; an object as JSON
};

// Whether a table of this name is a value, rather than a heading over others.
using IsObject = std::function<bool(std::string_view name)>;

// Every setting of the file in the order of its lines, from whatever table. An error names file and line.
Result<std::vector<Setting>> read_settings(const std::filesystem::path& file, const IsObject& is_object);

// Keys and values as TOML; values are booleans, numbers, strings and lists of them.
std::string write_settings(const boost::json::object& values);

}  // namespace kw
