// Words of an enumeration that is described (BOOST_DESCRIBE_ENUM): the enumerators' own names, where a
// trailing underscore only keeps a word from being one of C++'s. Descriptions stand in a .cpp, so that what
// includes the enumeration alone does not pay for them.
#pragma once

#include <array>
#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace kw::enum_words {

// Whether the words have hyphens where the names have underscores.
template <typename Enum>
inline constexpr bool is_hyphenated = false;

// The word of one enumerator.
template <typename Enum, typename Enumerator>
struct Word {
  static constexpr auto letters = [] {
    constexpr std::string_view name = Enumerator::name;
    std::array<char, name.size() - (name.ends_with('_') ? 1 : 0)> text{};
    for (std::size_t i = 0; i < text.size(); ++i)
      text[i] = is_hyphenated<Enum> && name[i] == '_' ? '-' : name[i];
    return text;
  }();
  static constexpr std::string_view text{letters.data(), letters.size()};
};

template <typename Enum>
constexpr auto table() {
  return []<template <typename...> typename List, typename... Enumerators>(List<Enumerators...>) {
    return std::array<std::pair<Enum, std::string_view>, sizeof...(Enumerators)>{
        {{Enumerators::value, Word<Enum, Enumerators>::text}...}};
  }(boost::describe::describe_enumerators<Enum>());
}

template <typename Enum>
std::string_view word_of(Enum value) {
  static constexpr auto words = table<Enum>();
  for (const auto& [each, word] : words)
    if (each == value) return word;
  return {};
}

template <typename Enum>
std::optional<Enum> value_of(std::string_view text) {
  static constexpr auto words = table<Enum>();
  for (const auto& [value, word] : words)
    if (word == text) return value;
  return {};
}

// Whether every enumerator up to the last one is described.
template <typename Enum>
constexpr bool is_whole(Enum last) {
  return table<Enum>().size() == static_cast<std::size_t>(last) + 1;
}

}  // namespace kw::enum_words
