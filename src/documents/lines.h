// The lines of a text, with their places.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kw::documents {

// Where each line begins, and at last the text's size. A line ends with LF, CR LF or CR.
std::vector<std::size_t> line_begins(std::string_view text);

// The line without its end.
std::string_view line_at(std::string_view text, const std::vector<std::size_t>& begins, std::size_t number);

bool is_blank(std::string_view text);

// The spaces and tabs in front.
std::string_view indentation(std::string_view line);

}  // namespace kw::documents
