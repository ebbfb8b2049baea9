// Lines around a span.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "corpus/place.h"

namespace kw::harvest {

// The offset of the line's first byte; of the byte after its newline, or the text's end.
std::size_t line_begin(std::string_view text, std::size_t at);
std::size_t line_end(std::string_view text, std::size_t at);

// The span's text as whole lines without the indentation of its first one; lines that have less of it keep
// what they have. No newline at the end.
std::string dedented(std::string_view text, corpus::Span span);

// Up to most_bytes before and after the span, in whole lines, cut where one of `tops` ends where that is
// possible. `tops` are in order and do not overlap.
corpus::Span region_around(std::string_view text, corpus::Span span, const std::vector<corpus::Span>& tops,
                           std::size_t most_bytes);

// The lines of comments that end right above the offset, without their marks; empty where there are none.
std::string comment_above(std::string_view text, std::size_t at, std::string_view mark);

}  // namespace kw::harvest
