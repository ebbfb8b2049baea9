// Options from a TOML file: a flag beats the environment, which beats the file, which beats the default.
#pragma once

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw {

// Adds --config FILE, also read from KERNELWRIGHT_CONFIG, to a verb.
CLI::Option* add_config(CLI::App& verb);

// Parses argv as CLI::App::parse does, then lets the file of the parsed verb's --config, where it has one,
// fill what argv and the environment left open. Throws CLI::ParseError for both.
void parse_arguments(CLI::App& app, int argc, const char* const* argv);

// Fills options of a parsed verb that were not given. Keys are long names of flags, or a positional's name in
// lower case; "_" stands for "-" too; tables only group. An error names file, line and key. A setting that
// excludes an option given otherwise is passed over.
Result<> apply_config(CLI::App& verb, const std::filesystem::path& file);

// What a parsed verb resolved to: name → value, of all options that were given or whose default CLI11 knows.
// Numbers stand as numbers where that loses nothing. Not in it: --help, --config, and options with "key" in
// their name, which are secrets.
boost::json::object resolved_values(const CLI::App& verb);

// The same as TOML that --config takes.
std::string resolved_toml(const CLI::App& verb);

}  // namespace kw
