#include "documents/lines.h"

#include <algorithm>

namespace kw::documents {

std::vector<std::size_t> line_begins(std::string_view text) {
  std::vector<std::size_t> begins{0};
  for (std::size_t at = text.find_first_of("\r\n"); at != std::string_view::npos;
       at = text.find_first_of("\r\n", at)) {
    at += text.substr(at).starts_with("\r\n") ? 2 : 1;
    begins.push_back(at);
  }
  if (begins.back() != text.size()) begins.push_back(text.size());
  return begins;
}

std::string_view line_at(std::string_view text, const std::vector<std::size_t>& begins, std::size_t number) {
  std::string_view line = text.substr(begins[number], begins[number + 1] - begins[number]);
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

std::string_view indentation(std::string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

}  // namespace kw::documents
