// Words of the command line into values. An error says what is allowed; add_parsed puts the flag's name
// before it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

Result<std::uint64_t> parse_whole(const std::string& text, std::uint64_t least, std::uint64_t most);
Result<double> parse_positive(const std::string& text);
Result<double> parse_share(const std::string& text);  // from 0 to 1

// "8G", "512M", "65536": bytes, in powers of 1024.
Result<std::uint64_t> parse_bytes(const std::string& text);

// The word itself, if it is one of those allowed.
Result<std::string> parse_choice(const std::string& text, const std::vector<std::string>& allowed);

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
