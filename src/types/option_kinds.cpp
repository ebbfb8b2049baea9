#include "types/option_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <ranges>
#include <string_view>

#include "base/core/json.h"
#include "base/core/words.h"

namespace kw::kinds {
namespace json = boost::json;
namespace {

constexpr std::array rules{"kernelbench", "seed", "strict"};

std::unexpected<Wrong> wrong(std::string why, std::string field = {}) {
  return std::unexpected(Wrong{std::move(why), std::move(field)});
}

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// "a, b, c"; if a word contains a comma, "and" separates the words.
std::string listed(const std::vector<std::string>& words) {
  bool has_comma = std::ranges::any_of(words, [](const std::string& word) { return word.contains(','); });
  return fmt::format("{}", fmt::join(words, has_comma ? " and " : ", "));
}

json::array strings(const auto& words) {
  json::array array;
  for (std::string_view word : words) array.emplace_back(word);
  return array;
}

json::object nullable(std::string_view type) {
  return {{"type", json::array{type, "null"}}};
}

std::string python_literal(const auto& words) {
  std::vector<std::string> quoted;
  for (std::string_view word : words) quoted.push_back(fmt::format("\"{}\"", word));
  return fmt::format("Literal[{}]", fmt::join(quoted, ", "));
}

// The number of "NAME=NUMBER"; empty for other text.
std::optional<double> setting(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with('=')) return {};
  text.remove_prefix(name.size() + 1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return {};
  return value;
}

// At least 1: a positive time must not become 0.
std::chrono::milliseconds in_ms(double seconds) {
  return std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(seconds * 1000)));
}

double in_seconds(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

}  // namespace

Result<std::uint64_t> Whole::parse(const std::string& text) const {
  return parse_whole(text, least, most);
}
std::string Whole::text(std::uint64_t value) const {
  return fmt::format("{}", value);
}
Read<std::uint64_t> Whole::from_json(const json::value& value) const {
  auto number = integer_of(value);
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) < least ||
      static_cast<std::uint64_t>(*number) > most)
    return wrong(fmt::format("is not a whole number from {} to {}", least, most));
  return static_cast<std::uint64_t>(*number);
}
std::string Whole::values() const {
  return fmt::format("{} to {}", least, most);
}
json::object Whole::schema() const {
  json::object schema = nullable("integer");
  schema["minimum"] = least;
  schema["maximum"] = most;
  return schema;
}

Result<double> Share::parse(const std::string& text) const {
  return parse_share(text);
}
std::string Share::text(double value) const {
  return fmt::format("{}", value);
}
Read<double> Share::from_json(const json::value& value) const {
  double number = value.is_number() ? value.to_number<double>() : -1;
  if (!(number >= 0 && number <= 1)) return wrong("is not a number from 0 to 1");
  return number;
}
json::object Share::schema() const {
  json::object schema = nullable("number");
  schema["minimum"] = 0;
  schema["maximum"] = 1;
  return schema;
}

Result<std::chrono::milliseconds> Seconds::parse(const std::string& text) const {
  auto value = parse_positive(text);
  if (value && *value <= most) return in_ms(*value);
  return fail(fmt::format("\"{}\" is not a number above 0 and at most {}", text, most));
}
std::string Seconds::text(std::chrono::milliseconds value) const {
  return fmt::format("{}", in_seconds(value));
}
Read<std::chrono::milliseconds> Seconds::from_json(const json::value& value) const {
  double number = value.is_number() ? value.to_number<double>() : 0;
  if (!(number > 0 && number <= most))
    return wrong(fmt::format("is not a number above 0 and at most {}", most));
  return in_ms(number);
}
json::value Seconds::to_json(std::chrono::milliseconds value) const {
  return in_seconds(value);
}
std::string Seconds::values() const {
  return fmt::format("above 0, at most {}", most);
}
json::object Seconds::schema() const {
  json::object schema = nullable("number");
  schema["exclusiveMinimum"] = 0;
  schema["maximum"] = static_cast<std::int64_t>(most);
  return schema;
}

Result<std::uint64_t> Bytes::parse(const std::string& text) const {
  auto value = parse_bytes(text);
  if (value && *value < least) return fail(fmt::format("\"{}\" is less than {}", text, this->text(least)));
  return value;
}
std::string Bytes::values() const {
  return fmt::format("bytes, or a number with K, M, G or T; {} or more", text(least));
}
std::string Bytes::text(std::uint64_t value) const {
  constexpr std::string_view units = "KMGT";
  std::size_t unit = 0;
  while (value > 0 && value % 1024 == 0 && unit < units.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{}", value) : fmt::format("{}{}", value, units[unit - 1]);
}

json::value Text::to_json(const std::string& value) const {
  return json::value(value);
}

Result<bool> Switch::parse(const std::string& text) const {
  auto word = parse_choice(text, {"true", "false"});
  if (!word) return std::unexpected(word.error());
  return *word == "true";
}

Result<std::string> Choice::parse(const std::string& text) const {
  return parse_choice(text, words_);
}
Read<std::string> Choice::from_json(const json::value& value) const {
  if (!value.is_string() || !is_one_of(words_, std::string_view(value.get_string())))
    return wrong(fmt::format("is none of {}", listed(words_)));
  return std::string(value.get_string());
}
json::value Choice::to_json(const std::string& value) const {
  return json::value(value);
}
std::string Choice::values() const {
  return listed(words_);
}
json::object Choice::schema() const {
  json::array words = strings(words_);
  words.emplace_back(nullptr);
  return {{"enum", std::move(words)}};
}
std::string Choice::python() const {
  return python_literal(words_);
}

Result<bool> EitherWord::parse(const std::string& text) const {
  if (text == yes_ || is_one_of(also_yes_, text)) return true;
  if (text == no_) return false;
  return fail(fmt::format("\"{}\" is none of {}", text, listed(words())));
}
Read<bool> EitherWord::from_json(const json::value& value) const {
  if (!value.is_bool()) return wrong("is neither true nor false");
  return value.get_bool();
}
std::string EitherWord::values() const {
  return listed(words());
}
json::object EitherWord::schema() const {
  return nullable("boolean");
}

Result<Trust> TrustWord::parse(const std::string& text) const {
  auto word = parse_choice(text, words());
  if (!word) return std::unexpected(word.error());
  return *from_string<Trust>(*word);
}
std::string TrustWord::text(Trust value) const {
  return std::string(to_string(value));
}
json::value TrustWord::to_json(Trust value) const {
  return json::value(to_string(value));
}
std::string TrustWord::values() const {
  return listed(words());
}

namespace {

constexpr std::string_view no_sanitizer = "none";

// Each once, in the order of the enumeration, so that equal sets are equal values; none: a word is unknown.
std::optional<std::vector<Sanitizer>> sanitizers_of(const std::vector<std::string>& words) {
  std::vector<Sanitizer> found;
  for (const std::string& word : words) {
    auto sanitizer = from_string<Sanitizer>(word);
    if (!sanitizer) return {};
    found.push_back(*sanitizer);
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace

Result<std::vector<Sanitizer>> Sanitizers::parse(const std::string& text) const {
  if (text == no_sanitizer) return std::vector<Sanitizer>{};
  std::vector<std::string> words;
  for (const auto part : std::views::split(text, ',')) words.emplace_back(part.begin(), part.end());
  if (auto found = sanitizers_of(words)) return *found;
  return fail(fmt::format("\"{}\" is none of {}", text, values()));
}
std::string Sanitizers::text(const std::vector<Sanitizer>& value) const {
  if (value.empty()) return std::string(no_sanitizer);
  std::vector<std::string_view> words;
  for (Sanitizer each : value) words.push_back(to_string(each));
  return fmt::format("{}", fmt::join(words, ","));
}
Read<std::vector<Sanitizer>> Sanitizers::from_json(const json::value& value) const {
  std::vector<std::string> words;
  bool is_list = value.is_array();
  if (is_list)
    for (const json::value& each : value.get_array()) {
      is_list = is_list && each.is_string();
      if (is_list) words.emplace_back(each.get_string());
    }
  auto found = is_list ? sanitizers_of(words) : std::nullopt;
  if (!found) return wrong(fmt::format("is no list of {}", listed(this->words())));
  return *found;
}
json::value Sanitizers::to_json(const std::vector<Sanitizer>& value) const {
  json::array words;
  for (Sanitizer each : value) words.emplace_back(to_string(each));
  return words;
}
std::string Sanitizers::values() const {
  return fmt::format("{}, or a list: {}", no_sanitizer, listed(words()));
}
std::vector<std::string> Sanitizers::words() const {
  return {enum_words<Sanitizer>.begin(), enum_words<Sanitizer>.end()};
}
json::object Sanitizers::schema() const {
  json::object schema{{"type", json::array{"array", "null"}}};
  schema["items"] = json::object{{"enum", strings(words())}};
  return schema;
}
std::string Sanitizers::python() const {
  return fmt::format("list[{}]", python_literal(words()));
}

Result<DeviceChoice> Devices::parse(const std::string& text) const {
  constexpr std::string_view one = "cuda:";
  if (auto kind = from_string<DeviceKind>(text)) return DeviceChoice{*kind, {}};
  if (text.starts_with(one))
    if (auto ordinal = parse_whole(text.substr(one.size()), 0, 1023))
      return DeviceChoice{DeviceKind::cuda, static_cast<int>(*ordinal)};
  return fail(fmt::format("\"{}\" is none of {}", text, values()));
}
std::string Devices::text(const DeviceChoice& value) const {
  if (value.ordinal) return fmt::format("cuda:{}", *value.ordinal);
  return std::string(to_string(value.kind));
}
json::value Devices::to_json(const DeviceChoice& value) const {
  return json::value(text(value));
}
std::string Devices::values() const {
  return "auto, cpu, cuda, cuda:N";
}

Result<ToleranceOption> ToleranceRule::parse(const std::string& text) const {
  if (is_one_of(rules, text)) return ToleranceOption{text, -1, -1};
  ToleranceOption custom{"custom", -1, -1};
  std::string_view all = text;
  if (std::size_t comma = all.find(','); comma != std::string_view::npos) {
    for (std::string_view part : {all.substr(0, comma), all.substr(comma + 1)}) {
      if (auto rtol = setting(part, "rtol")) custom.rtol = *rtol;
      if (auto atol = setting(part, "atol")) custom.atol = *atol;
    }
    if (custom.rtol >= 0 && custom.atol >= 0) return custom;
  }
  return fail(fmt::format("\"{}\" is none of {}", text, values()));
}
std::string ToleranceRule::text(const ToleranceOption& value) const {
  if (value.name != "custom") return value.name;
  return fmt::format("rtol={},atol={}", value.rtol, value.atol);
}
Read<ToleranceOption> ToleranceRule::from_json(const json::value& value) const {
  if (value.is_string() && is_one_of(rules, std::string_view(value.get_string())))
    return ToleranceOption{std::string(value.get_string()), -1, -1};
  if (!value.is_object())
    return wrong(fmt::format(R"(is none of {} and {{"rtol": R, "atol": A}})", fmt::join(rules, ", ")));
  ToleranceOption custom{"custom", -1, -1};
  for (const auto& [key, number] : value.get_object()) {
    double* place = key == "rtol" ? &custom.rtol : key == "atol" ? &custom.atol : nullptr;
    if (place == nullptr) return wrong("is unknown", key);
    *place = number.is_number() ? number.to_number<double>() : -1;
    if (!(*place >= 0) || !std::isfinite(*place)) return wrong("is not a number from 0 on", key);
  }
  if (custom.rtol < 0 || custom.atol < 0) return wrong("needs both rtol and atol");
  return custom;
}
json::value ToleranceRule::to_json(const ToleranceOption& value) const {
  if (value.name != "custom") return json::value(value.name);
  return json::object{{"rtol", value.rtol}, {"atol", value.atol}};
}
std::string ToleranceRule::values() const {
  return fmt::format("{}, rtol=R,atol=A", fmt::join(rules, ", "));
}
std::vector<std::string> ToleranceRule::words() const {
  return {rules.begin(), rules.end()};
}
json::object ToleranceRule::schema() const {
  return {{"anyOf", json::array{json::object{{"enum", strings(rules)}},
                                json::object{{"$ref", "#/components/schemas/Tolerance"}},
                                json::object{{"type", "null"}}}}};
}
std::string ToleranceRule::python() const {
  return python_literal(rules) + " | Tolerance";
}

}  // namespace kw::kinds
