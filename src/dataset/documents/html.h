// Finds code regions of an HTML text by tags alone, so that only these regions are parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "dataset/units/unit.h"

namespace kw::documents {

// No place in a text.
inline constexpr std::size_t nowhere = std::string_view::npos;

struct Tag {
  std::string_view name;  // as written
  bool closes = false;    // </name>
  std::size_t begin = 0;  // of the '<'
  std::size_t end = 0;    // offset after the '>'; npos: neither this tag nor any later one ends
  std::size_t attributes = 0;
};

// The tag that begins with the '<' at this offset; empty if there is none.
std::optional<Tag> tag_at(std::string_view html, std::size_t at);

// Whether gumbo may parse the region: its tags are those of code markup, with few attributes each, closed in
// the order in which they were opened, and not nested too deeply. gumbo's time and memory grow with the
// depth for every tag, and it reopens tags that are closed out of order.
bool is_plain(std::string_view piece);

// Finds code regions of an HTML text by tags alone, so that only these regions are parsed.
struct CodeRegion {
  corpus::Span piece;   // from the start tag of <pre> or <code> to the end of its end tag
  corpus::Span before;  // the tags that open right before it, which often name the language; may be empty
};

// Skips comments, scripts, styles and unclosed elements. Linear time.
std::vector<CodeRegion> code_regions(std::string_view html);

}  // namespace kw::documents
