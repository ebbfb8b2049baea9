#include "base/core/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

namespace kw {
namespace {

// The Levenshtein distance: insertions, deletions and replacements of letters.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    std::size_t needed = edits(word, candidate);
    if (needed < fewest) {
      fewest = needed;
      best = candidate;
    }
  }
  return best;
}

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
  // from_chars refuses a plus sign and blanks, as intended.
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
