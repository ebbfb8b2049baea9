#include "dataset/licence/words.h"

#include <algorithm>

#include "base/core/text.h"

namespace kw::licence {
namespace {

constexpr std::size_t max_head_bytes = 16'000;

// The line without comment and list marks at its start.
std::string_view without_marks(std::string_view line) {
  while (!line.empty() && !is_letter_or_digit(line.front()) && line.front() != '(') line.remove_prefix(1);
  std::string_view rest = line;
  if (!rest.empty() && rest.front() == '(') rest.remove_prefix(1);
  std::size_t length = 0;
  while (length < rest.size() && is_letter_or_digit(rest[length])) ++length;
  if (length == 0 || length > 4 || length == rest.size()) return line;
  const char after = rest[length];
  if (after != '.' && after != ')') return line;
  const bool at_end = length + 1 == rest.size();
  if (!at_end && rest[length + 1] != ' ' && rest[length + 1] != '\t') return line;
  const std::string_view mark = rest.substr(0, length);
  const bool digits = std::all_of(mark.begin(), mark.end(), is_digit);
  const bool roman =
      std::all_of(mark.begin(), mark.end(), [](char c) { return c == 'i' || c == 'v' || c == 'x'; });
  // "(c) 2024" has no bullet. An omitted bullet does not affect recognition.
  if (digits ? length <= 2 : (length == 1 || roman)) return rest.substr(length + 1);
  return line;
}

void add_words(std::string_view line, std::string& text) {
  bool inside = false;
  for (const char c : line) {
    if (is_letter_or_digit(c)) {
      text += lower(c);
      inside = true;
    } else if (inside) {
      text += ' ';
      inside = false;
    }
  }
  if (inside) text += ' ';
}

}  // namespace

Words words_of(std::string_view bytes) {
  Words words;
  words.text = " ";
  std::size_t number = 0;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    ++number;
    const std::size_t begin = words.text.size() - 1;
    add_words(without_marks(bytes.substr(0, end)), words.text);
    if (words.text.size() - 1 > begin) words.lines.push_back({begin, number});
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return words;
}

std::size_t find_phrase(const Words& words, std::string_view phrase, std::size_t from) {
  if (phrase.empty()) return std::string::npos;
  for (std::size_t at = from + 1;; ++at) {
    at = words.text.find(phrase, at);
    if (at == std::string::npos) return std::string::npos;
    const std::size_t end = at + phrase.size();
    if (words.text[at - 1] == ' ' && end < words.text.size() && words.text[end] == ' ') return at - 1;
  }
}

std::size_t line_of(const Words& words, std::size_t place) {
  auto after = std::upper_bound(words.lines.begin(), words.lines.end(), place,
                                [](std::size_t at, const Words::Line& line) { return at < line.begin; });
  return after == words.lines.begin() ? 1 : std::prev(after)->number;
}

std::size_t count_words(std::string_view spaced) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < spaced.size(); ++i)
    if (spaced[i] != ' ' && (i == 0 || spaced[i - 1] == ' ')) ++count;
  return count;
}

bool has_phrase(std::string_view spaced, std::string_view phrase) {
  for (std::size_t at = spaced.find(phrase); at != std::string_view::npos; at = spaced.find(phrase, at + 1))
    if (at > 0 && spaced[at - 1] == ' ' && at + phrase.size() < spaced.size() &&
        spaced[at + phrase.size()] == ' ')
      return true;
  return false;
}

std::string_view head_of(std::string_view bytes, std::size_t lines) {
  const std::string_view most = bytes.substr(0, max_head_bytes);
  std::size_t end = 0;
  for (std::size_t n = 0; n < lines && end < most.size(); ++n)
    end = std::min(most.find('\n', end), most.size() - 1) + 1;
  return most.substr(0, end);
}

}  // namespace kw::licence
