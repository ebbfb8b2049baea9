// What a notebook's cells hold that is no code of their language: magics and shell commands.
#pragma once

#include <string>
#include <string_view>

namespace kw::documents {

// The language of a cell that is wholly another one's ("%%bash", "%%writefile kernel.cu"); empty: the
// notebook's own.
std::string language_of_cell(std::string_view source);

// Lines that begin with a magic or a shell command become comments, so that what is left can be parsed. Lines
// within strings of three quotes and within brackets are left alone.
std::string without_magics(std::string_view source);

}  // namespace kw::documents
