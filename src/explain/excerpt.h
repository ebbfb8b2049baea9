// The place in a candidate's source that a verdict speaks of.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/verdict.h"

namespace kw::explain {

struct SourceLine {
  std::size_t number = 0;  // from 1
  std::string text;        // as the candidate wrote it: not fit for a terminal
};

// Bytes of a line, from 0, `end` excluded.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Excerpt {
  std::size_t line = 0;           // the one that is meant
  std::vector<SourceLine> lines;  // with up to two on each side; blank ones are left out
  std::optional<Span> span;       // within the one that is meant, where that can be told
};

// Where the span begins and ends in characters, from 1, the end excluded, as SARIF counts; 0 without a span.
Span columns_of(const Excerpt& excerpt);

// "    9 | ", and ">   10 | " before the line that is meant.
std::string gutter(const Excerpt& excerpt, const SourceLine& line);

// Nothing where there is no such line; without a span.
std::optional<Excerpt> excerpt_of(std::string_view code, std::size_t line);

// Where the caret of a compiler's text stands in the line, if that text repeats the line.
std::optional<Span> caret_of(std::string_view compiler_text, std::string_view line);

// The one access, name or bracket that a verdict's error names and the line holds.
std::optional<Span> named_in(const Verdict& verdict, std::string_view line);

}  // namespace kw::explain
