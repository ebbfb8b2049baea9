// Options from a TOML file. Precedence: flag, environment, file, default.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/object.hpp>
#include <cctype>
#include <filesystem>
#include <string>

#include "base/core/result.h"

namespace kw {

// The first long name, or a positional's name in lower case; empty for an option with a single letter only.
inline std::string name_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames().front();
  std::string name = option.get_positional() ? option.get_name(true) : "";
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

inline bool is_flag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}
inline bool is_list(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

// --help and --config are not settings.
inline bool is_setting(const CLI::Option& option) {
  std::string name = name_of(option);
  return !name.empty() && name != "help" && name != "help-all" && name != "version" && name != "config";
}

// Adds --config FILE, also read from KERNELWRIGHT_CONFIG, to a verb.
CLI::Option* add_config(CLI::App& verb);

// Parses argv as CLI::App::parse does. Then sets, from the file of the parsed verb's --config, the options
// that argv and the environment did not set. Throws CLI::ParseError for errors of both.
void parse_arguments(CLI::App& app, int argc, const char* const* argv);

// Sets options of a parsed verb that were not given. Keys are long names of flags, or a positional's name in
// lower case; "_" equals "-"; tables only group keys. An error names file, line and key. Skips a setting
// that excludes an option given otherwise.
Result<> apply_config(CLI::App& verb, const std::filesystem::path& file);

// The resolved options of a parsed verb, name → value: all that were given or have a default in CLI11. A
// value is a number if this loses no information. Excludes --help, --config, and options with "key" in their
// name, which are secrets.
boost::json::object resolved_values(const CLI::App& verb);

// The same as TOML that --config takes.
std::string resolved_toml(const CLI::App& verb);

}  // namespace kw
