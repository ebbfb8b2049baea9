// The text of --help, and the sentences for a command line that the parser refuses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/core/result.h"

namespace kw {

// Prints a verb's table in lines of at most 100 columns.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

// The fault of the command line, in its own words, and what to write instead.
Error usage_error(CLI::App& app, const CLI::ParseError& error);

// The verb that these words name, as in `kernelwright help dataset build`.
Result<const CLI::App*> find_verb(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace kw
