#include "report/forms/escape.h"

#include <algorithm>

#include "base/core/display.h"
#include "base/core/text.h"

namespace kw::report {
namespace {

constexpr std::size_t longest_cell_bytes = 30'000;  // a spreadsheet's cell has 32,767 characters

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
