// Words of enumerations and of the command line. BOOST_DEFINE_ENUM_CLASS(Colour, red, green) defines the
// enumerators once: their values count from 0, and their names are their words. A trailing underscore avoids
// a C++ keyword and is no part of the word.
#pragma once

#include <array>
#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/core/result.h"

namespace kw {

// Words of enumerations. BOOST_DEFINE_ENUM_CLASS(Colour, red, green) defines the enumerators once: their
// values count from 0, and their names are their words. A trailing underscore avoids a C++ keyword and is no
// part of the word.
template <typename Enum>
concept DescribedEnum = std::is_enum_v<Enum> && boost::describe::has_describe_enumerators<Enum>::value;

template <typename Enum>
struct EnumWord {
  Enum value;
  std::string_view word;
};

// Words that differ from their enumerators' names; specialise it beside the enumeration.
template <DescribedEnum Enum>
inline constexpr auto other_words = std::array<EnumWord<Enum>, 0>{};

template <DescribedEnum Enum>
constexpr std::string_view word_from_name(Enum value, std::string_view name) {
  for (const EnumWord<Enum>& other : other_words<Enum>)
    if (other.value == value) return other.word;
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

// All words in the order of the enumerators; the index is the enumerator's value.
template <DescribedEnum Enum>
inline constexpr auto enum_words = []<template <typename...> typename List, typename... Each>(List<Each...>) {
  return std::array<std::string_view, sizeof...(Each)>{word_from_name(Each::value, Each::name)...};
}(boost::describe::describe_enumerators<Enum>());

// Empty for a value that is no enumerator.
template <DescribedEnum Enum>
constexpr std::string_view to_string(Enum value) {
  const auto number = static_cast<std::size_t>(value);
  return number < enum_words<Enum>.size() ? enum_words<Enum>[number] : std::string_view();
}

// The value of that word, or nothing: from_string<Status>("correct").
template <DescribedEnum Enum>
constexpr std::optional<Enum> from_string(std::string_view word) {
  for (std::size_t number = 0; number < enum_words<Enum>.size(); ++number)
    if (enum_words<Enum>[number] == word) return static_cast<Enum>(number);
  return {};
}

// The word with the smallest edit distance from the given one; empty if none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& words);

// Parses words of the command line. Errors state the allowed values.
Result<std::uint64_t> parse_whole(const std::string& text, std::uint64_t least, std::uint64_t most);
Result<double> parse_positive(const std::string& text);
Result<double> parse_share(const std::string& text);  // from 0 to 1

// "8G", "512M", "65536": bytes, in powers of 1024.
Result<std::uint64_t> parse_bytes(const std::string& text);

// Returns the word if it is one of the allowed words.
Result<std::string> parse_choice(const std::string& text, const std::vector<std::string>& allowed);

}  // namespace kw
