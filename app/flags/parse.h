// Flags whose text is parsed: an error has the flag's name before it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/parse.h"

namespace kw {

// An option whose text is parsed into the target; a bad text ends the parse with "--flag: ...".
template <typename T>
CLI::Option* add_parsed(CLI::App& app, const std::string& flag, T& target,
                        std::function<Result<T>(const std::string&)> parse, const std::string& help) {
  return app.add_option_function<std::string>(
      flag,
      [flag, &target, parse = std::move(parse)](const std::string& text) {
        auto value = parse(text);
        if (!value) throw CLI::ValidationError(flag, value.error().what);
        target = std::move(*value);
      },
      help);
}

}  // namespace kw
