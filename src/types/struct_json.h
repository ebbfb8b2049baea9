// JSON of structs that are described (BOOST_DESCRIBE_STRUCT): a member is a field of its name, in the order
// of the description. Optional is null or the value, a vector an array, a map an object, a pair an array of
// two, an enumerator its word. nan and infinities are null. A type with another form has its own `written`
// and `read` beside it.
//
// Descriptions are in the .cpp that reads and writes, so that other includers of the struct do not compile
// them.
#pragma once

#include <boost/describe/class.hpp>
#include <boost/describe/members.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/mp11/algorithm.hpp>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/core/json.h"
#include "base/core/words.h"

namespace kw::struct_json {

template <typename T>
concept Described = boost::describe::has_describe_members<T>::value && !std::is_enum_v<T>;

// Calls the function with the name and the pointer of each member, in order.
template <Described T, typename Do>
void for_each_member(Do&& act) {
  using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
  boost::mp11::mp_for_each<Members>([&](auto member) { act(std::string_view(member.name), member.pointer); });
}

// Whether an empty text of the struct is null.
template <Described T>
inline constexpr bool empty_text_is_null = false;

// ---- writing

template <typename T>
  requires std::is_arithmetic_v<T>
boost::json::value written(T value) {
  if constexpr (std::floating_point<T>)
    if (!std::isfinite(value)) return nullptr;
  return value;
}

inline boost::json::value written(const std::string& value) {
  return boost::json::string(value);
}

template <typename Enum>
  requires std::is_enum_v<Enum>
boost::json::value written(Enum value) {
  return boost::json::string(to_string(value));
}

template <typename A, typename B>
boost::json::value written(const std::pair<A, B>& pair) {
  return boost::json::array{written(pair.first), written(pair.second)};
}

template <Described T>
boost::json::object fields_of(const T& value);

template <Described T>
boost::json::value written(const T& value) {
  return fields_of(value);
}

template <typename T>
boost::json::value written(const std::vector<T>& values);

template <typename Enum, typename T>
boost::json::value written(const std::map<Enum, T>& values) {
  boost::json::object object;
  for (const auto& [key, value] : values) object.emplace(to_string(key), written(value));
  return object;
}

template <typename T>
boost::json::value written(const std::optional<T>& value) {
  return value ? written(*value) : boost::json::value(nullptr);
}

template <typename T>
boost::json::value written(const std::vector<T>& values) {
  boost::json::array array;
  for (const T& value : values) array.push_back(written(value));
  return array;
}

template <Described T>
boost::json::object fields_of(const T& value) {
  boost::json::object object;
  for_each_member<T>([&](std::string_view name, auto member) {
    if constexpr (empty_text_is_null<T> && std::is_same_v<decltype(member), std::string T::*>)
      object.emplace(name, text_or_null(value.*member));
    else
      object.emplace(name, written(value.*member));
  });
  return object;
}

// ---- reading: a field of another form than its member counts as missing, and the member keeps its default.
// Fields without a member are ignored.

inline bool read(const boost::json::value& from, std::string& into) {
  if (!from.is_string()) return false;
  into = from.get_string();
  return true;
}

inline bool read(const boost::json::value& from, bool& into) {
  if (!from.is_bool()) return false;
  into = from.get_bool();
  return true;
}

template <typename T>
  requires std::is_arithmetic_v<T>
bool read(const boost::json::value& from, T& into) {
  if (!from.is_number()) return false;
  boost::system::error_code inexact;
  T number = from.to_number<T>(inexact);
  if (!inexact) into = number;
  return !inexact;
}

template <typename Enum>
  requires std::is_enum_v<Enum>
bool read(const boost::json::value& from, Enum& into) {
  if (!from.is_string()) return false;
  auto value = from_string<Enum>(from.get_string());
  if (value) into = *value;
  return value.has_value();
}

template <Described T>
bool read(const boost::json::value& from, T& into);
template <typename T>
bool read(const boost::json::value& from, std::optional<T>& into);

template <typename A, typename B>
bool read(const boost::json::value& from, std::pair<A, B>& into) {
  const auto* array = from.if_array();
  return array && array->size() == 2 && read((*array)[0], into.first) && read((*array)[1], into.second);
}

template <typename T>
bool read(const boost::json::value& from, std::vector<T>& into) {
  const auto* array = from.if_array();
  if (!array) return false;
  for (const boost::json::value& each : *array)
    if (T value{}; read(each, value)) into.push_back(std::move(value));
  return true;
}

template <typename Enum, typename T>
bool read(const boost::json::value& from, std::map<Enum, T>& into) {
  const auto* object = from.if_object();
  if (!object) return false;
  for (const auto& [name, each] : *object)
    if (T value{}; read(each, value))
      if (auto key = from_string<Enum>(name)) into[*key] = std::move(value);
  return true;
}

template <typename T>
bool read(const boost::json::value& from, std::optional<T>& into) {
  T value{};
  bool is_there = read(from, value);
  if (is_there) into = std::move(value);
  return is_there;
}

// False if the field is missing or has another form.
template <typename T>
bool read_member(const boost::json::object& from, std::string_view name, T& into) {
  const boost::json::value* field = from.if_contains(name);
  return field && read(*field, into);
}

template <Described T>
void read_fields(const boost::json::object& from, T& into) {
  for_each_member<T>([&](std::string_view name, auto member) { read_member(from, name, into.*member); });
}

template <Described T>
bool read(const boost::json::value& from, T& into) {
  const auto* object = from.if_object();
  if (object) read_fields(*object, into);
  return object != nullptr;
}

}  // namespace kw::struct_json
