// Foreign text in the forms of a report: a model's words, names and paths must not act in a spreadsheet, a
// Markdown viewer or a terminal.
#pragma once

#include <string>
#include <string_view>

namespace kw::report {

// One line of Markdown, also within a table: no markup, HTML, formula or link; hidden and reordering
// characters are named.
std::string markdown_text(std::string_view text);

// A cell of CSV before quoting, on one line: a text that a spreadsheet would take for a formula begins with
// an apostrophe.
std::string csv_text(std::string_view text);

}  // namespace kw::report
