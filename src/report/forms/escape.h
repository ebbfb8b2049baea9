// Foreign text in the cells of a report: a model's words, names and paths must not act in a spreadsheet.
// markdown_text in types/card.h is the same for Markdown.
#pragma once

#include <string>
#include <string_view>

namespace kw::report {

// A cell of CSV before quoting, on one line: a text that a spreadsheet would take for a formula begins with
// an apostrophe.
std::string csv_text(std::string_view text);

}  // namespace kw::report
