// Fenced blocks of a Markdown text, as models write them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kw {

struct Fence {
  std::string_view language;  // the first word after the fence
  std::string_view body;
  std::size_t indentation = 0;  // of the opening line: as much belongs to the list it stands in
  bool closed = false;
};

// In order. A fence of backticks or tildes ends at one of the same kind that is as long and stands alone; in
// an open docstring it is text. One that is still open where the next begins, or at the end, is not closed.
std::vector<Fence> find_fences(std::string_view text);

// Whether some line of the text can only be Python: an import, a definition, a decorator.
bool looks_like_python(std::string_view text);

// The line that starts at the offset, without its newline, and where the next one starts.
std::string_view line_at(std::string_view text, std::size_t offset);
std::size_t after_line(std::string_view text, std::size_t offset);

}  // namespace kw
