// Flags with a parsed value. Error messages begin with the flag's name.
#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"

namespace kw {

// Adds an option that parses its text into the target. Wrong text ends the parse with "--flag: ...".
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

// For a flag whose absence has its own meaning.
template <typename T>
Result<std::optional<T>> given(Result<T> value) {
  if (!value) return std::unexpected(value.error());
  return std::optional<T>(std::move(*value));
}

// Of --limit: a whole number from 1.
inline Result<std::optional<std::uint64_t>> parse_limit(const std::string& text) {
  return given(parse_whole(text, 1, UINT64_MAX));
}

// --review or --review=N: a number of answers, 100 without one.
inline CLI::Option* add_review_count(CLI::App& app, const std::string& help,
                                     std::function<void(std::uint64_t)> use) {
  return app
      .add_option_function<std::vector<std::string>>(
          "--review",
          [use = std::move(use)](const std::vector<std::string>& words) {
            if (words.empty() || words.front().empty()) return use(100);
            auto count = parse_whole(words.front(), 1, 1'000'000);
            if (!count) throw CLI::ValidationError("--review", count.error().what);
            use(*count);
          },
          help)
      ->expected(0, 1)
      ->type_name("N");
}

// States the words of a closed set that an option takes, for the completion scripts. CLI11 has no other place
// for them; its own formatter would print this text, ours does not.
inline CLI::Option* with_words(CLI::Option* option, const std::vector<std::string>& words) {
  return option->option_text(fmt::format("{}", fmt::join(words, "|")));
}

// The same for an option of several values, each of which must be one of the words.
inline CLI::Option* limit_to(CLI::Option* option, const std::vector<std::string>& words) {
  option->check([words](const std::string& text) {
    auto word = parse_choice(text, words);
    return word ? std::string() : word.error().what;
  });
  return with_words(option, words);
}

template <DescribedEnum Enum>
std::vector<std::string> words_of() {
  return {enum_words<Enum>.begin(), enum_words<Enum>.end()};
}

template <DescribedEnum Enum>
Result<Enum> parse_word(const std::string& text) {
  auto word = parse_choice(text, words_of<Enum>());
  if (!word) return std::unexpected(word.error());
  return *from_string<Enum>(*word);
}

// An option that takes one of an enumeration's words; the target may be optional.
template <DescribedEnum Enum, typename Target>
CLI::Option* add_word(CLI::App& app, const std::string& flag, Target& target, const std::string& help) {
  return with_words(add_parsed<Target>(app, flag, target, parse_word<Enum>, help), words_of<Enum>())
      ->type_name(fmt::format("{}", fmt::join(enum_words<Enum>, "|")));
}

}  // namespace kw
