// The place in a candidate's source that a verdict refers to: the lines around it, and the span in its line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/verdict.h"

namespace kw::explain {

struct SourceLine {
  std::size_t number = 0;  // from 1
  std::string text;        // as the candidate wrote it: unescaped
};

// Bytes of a line, from 0, `end` excluded.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Excerpt {
  std::size_t line = 0;           // the marked line
  std::vector<SourceLine> lines;  // with up to two lines on each side, without blank ones
  std::optional<Span> span;       // in the marked line, if it is known
};

// Begin and end of the span in characters, from 1, the end excluded, as in SARIF; 0 without a span.
Span columns_of(const Excerpt& excerpt);

// "    9 | ", and ">   10 | " before the marked line.
std::string gutter(const Excerpt& excerpt, const SourceLine& line);

// The line without a span; empty if the line does not exist.
std::optional<Excerpt> excerpt_of(std::string_view code, std::size_t line);

// The column of the caret in a compiler's text, if that text repeats the line.
std::optional<Span> caret_of(std::string_view compiler_text, std::string_view line);

// The access, name or bracket that the verdict's error names, if the line contains it exactly once.
std::optional<Span> named_in(const Verdict& verdict, std::string_view line);

}  // namespace kw::explain
