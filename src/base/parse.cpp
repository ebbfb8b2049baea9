#include "base/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace kw {
namespace {

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

Result<std::uint64_t> parse_whole(const std::string& text, std::uint64_t least, std::uint64_t most) {
  auto value = number<std::uint64_t>(text);
  if (!value || *value < least || *value > most)
    return fail(fmt::format("\"{}\" is not a whole number from {} to {}", text, least, most));
  return *value;
}

Result<double> parse_positive(const std::string& text) {
  // libstdc++'s from_chars on floating point takes no sign of plus and no blanks, which is what we want.
  auto value = number<double>(text);
  if (!value || !std::isfinite(*value) || *value <= 0)
    return fail(fmt::format("\"{}\" is not a number above 0", text));
  return *value;
}

Result<double> parse_share(const std::string& text) {
  auto value = number<double>(text);
  if (!value || !(*value >= 0 && *value <= 1))
    return fail(fmt::format("\"{}\" is no number from 0 to 1", text));
  return *value;
}

Result<std::uint64_t> parse_bytes(const std::string& text) {
  std::string_view digits = text;
  unsigned shift = 0;
  if (!digits.empty()) {
    std::size_t unit = std::string_view("kmgt").find(static_cast<char>(std::tolower(digits.back())));
    if (unit != std::string_view::npos) {
      shift = 10 * static_cast<unsigned>(unit + 1);
      digits.remove_suffix(1);
    }
  }
  auto value = number<std::uint64_t>(digits);
  if (!value || *value == 0 || *value > (UINT64_MAX >> shift))
    return fail(fmt::format("\"{}\" is not a size: give bytes, or a number with K, M, G or T", text));
  return *value << shift;
}

Result<std::string> parse_choice(const std::string& text, const std::vector<std::string>& allowed) {
  if (std::ranges::find(allowed, text) != allowed.end()) return text;
  return fail(fmt::format("\"{}\" is none of {}", text, fmt::join(allowed, ", ")));
}

}  // namespace kw
