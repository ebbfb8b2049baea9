// What an option is called in a file.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string>

namespace kw {

// The first long name, or a positional's in lower case; empty for one that has a single letter only.
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

// --help and the file itself are no settings.
inline bool is_setting(const CLI::Option& option) {
  std::string name = name_of(option);
  return !name.empty() && name != "help" && name != "help-all" && name != "version" && name != "config";
}

}  // namespace kw
