// Tags of HTML, told apart as a browser does it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace kw::documents {

struct Tag {
  std::string_view name;  // as written
  bool closes = false;    // </name>
  std::size_t begin = 0;  // of the '<'
  std::size_t end = 0;    // one past the '>'; npos: it never ends, and neither does anything behind it
  std::size_t attributes = 0;
};

// The tag that begins with the '<' at this place; nothing when it is none.
std::optional<Tag> tag_at(std::string_view html, std::size_t at);

// Whether gumbo may be given the piece: its tags are those that code is marked up with, few attributes each,
// closed in the order in which they were opened, and not too deep. gumbo's time and memory grow with the
// depth for every tag, and what is closed out of order it opens again.
bool is_plain(std::string_view piece);

}  // namespace kw::documents
