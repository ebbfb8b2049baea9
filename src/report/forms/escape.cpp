#include "report/forms/escape.h"

#include <algorithm>

#include "base/core/display.h"
#include "base/core/text.h"
#include "types/card.h"

namespace kw::report {
namespace {

constexpr std::size_t longest_text_bytes = 4'000;   // in Markdown
constexpr std::size_t longest_cell_bytes = 30'000;  // a spreadsheet's cell has 32,767 characters

// Viewers make links of "scheme://", "www." and "name@host", and formulas between dollars.
std::string without_links(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string_view rest = text.substr(i);
    if (rest.starts_with("://"))
      plain += "&#58;";
    else if (rest.starts_with('@'))
      plain += "&#64;";
    else if (rest.starts_with('.') && i >= 3 && lower(text.substr(i - 3, 3)) == "www")
      plain += "&#46;";
    else if (rest.starts_with('$') || rest.starts_with('~') || rest.starts_with('_'))
      plain += std::string{'\\', text[i]};
    else
      plain += text[i];
  }
  return plain;
}

// Without spaces at the beginning, those of other scripts included.
std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks[] = {" ",      "\t",     "\u00a0", "\u2002",
                                         "\u2003", "\u2009", "\u202f", "\u3000"};
  while (true) {
    auto blank = std::ranges::find_if(blanks, [&](auto each) { return text.starts_with(each); });
    if (blank == std::end(blanks)) return text;
    text.remove_prefix(blank->size());
  }
}

}  // namespace

std::string markdown_text(std::string_view text) {
  return without_links(table_cell(visible_line(text), longest_text_bytes));
}

std::string csv_text(std::string_view text) {
  std::string cell = visible_line(shorten(text, longest_cell_bytes));
  std::string_view seen = without_blanks(cell);
  // Also the wide forms, which some spreadsheets accept.
  for (std::string_view start : {"=", "+", "-", "@", "＝", "＋", "－", "＠"})
    if (seen.starts_with(start)) return "'" + cell;
  bool begins_blank = !text.empty() && std::string_view("\t\r\n").contains(text.front());
  return begins_blank ? "'" + cell : cell;
}

}  // namespace kw::report
