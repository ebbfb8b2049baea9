#include "corpus/normalise.h"

#include "base/hash.h"

namespace kw::corpus {
namespace {

// What Python's str.strip() takes for white space among ASCII.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

}  // namespace

std::string normalise(std::string_view text) {
  std::string unix_text = with_line_feeds(text);
  std::size_t begin = 0;
  std::size_t end = unix_text.size();
  while (begin < end && is_space(unix_text[begin])) ++begin;
  while (end > begin && is_space(unix_text[end - 1])) --end;
  std::string out;
  out.reserve(end - begin);
  std::size_t newlines = 0;
  for (std::size_t i = begin; i < end; ++i) {
    char c = unix_text[i];
    newlines = c == '\n' ? newlines + 1 : 0;
    bool blank = c == ' ' || c == '\t';
    if (newlines > 2) continue;
    if (!blank)
      out += c;
    else if (out.empty() || out.back() != ' ')
      out += ' ';
  }
  return out;
}

std::string row_key(std::string_view prompt, std::string_view completion) {
  return sha1_hex(normalise(prompt) + "|||" + normalise(completion));
}

}  // namespace kw::corpus
