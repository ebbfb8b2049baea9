#include "types/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>

#include "base/core/display.h"
#include "base/core/text.h"

namespace kw {
namespace {

// The hub's licences that are common for source code.
constexpr std::array hub_licences{"afl-3.0",      "agpl-3.0",     "apache-2.0", "artistic-2.0",
                                  "bsd-2-clause", "bsd-3-clause", "bsl-1.0",    "bsd-3-clause-clear",
                                  "cc-by-4.0",    "cc-by-sa-4.0", "cc0-1.0",    "ecl-2.0",
                                  "epl-1.0",      "epl-2.0",      "eupl-1.1",   "eupl-1.2",
                                  "gpl-2.0",      "gpl-3.0",      "isc",        "lgpl-2.1",
                                  "lgpl-3.0",     "lppl-1.3c",    "mit",        "mpl-2.0",
                                  "ms-pl",        "ncsa",         "odc-by",     "osl-3.0",
                                  "postgresql",   "unlicense",    "wtfpl",      "zlib"};

constexpr std::size_t longest_text_bytes = 4'000;  // in Markdown

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

}  // namespace

std::string yaml_text(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

std::string hub_licence(std::string_view spdx) {
  std::string id = lower(spdx);
  for (std::string_view ending : {"-only", "-or-later", "+"})
    if (id.ends_with(ending)) id.resize(id.size() - ending.size());
  return std::ranges::find(hub_licences, id) == hub_licences.end() ? "other" : id;
}

std::string_view size_category(std::uint64_t rows) {
  if (rows < 1'000) return "n<1K";
  if (rows < 10'000) return "1K<n<10K";
  if (rows < 100'000) return "10K<n<100K";
  if (rows < 1'000'000) return "100K<n<1M";
  if (rows < 10'000'000) return "1M<n<10M";
  return rows < 100'000'000 ? "10M<n<100M" : "100M<n<1B";
}

std::string table_cell(std::string_view text, std::size_t max_bytes) {
  std::string cell;
  for (char c : shorten(to_plain_text(text), max_bytes)) {
    if (c == '\n' || c == '\t') c = ' ';
    if (c == '<' || c == '&') {
      cell += c == '<' ? "&lt;" : "&amp;";
      continue;
    }
    if (std::string_view("\\|[]*`").contains(c)) cell += '\\';
    cell += c;
  }
  return cell;
}

std::string markdown_text(std::string_view text) {
  return without_links(table_cell(visible_line(text), longest_text_bytes));
}

std::string counts_table(std::string_view title, const std::map<std::string, std::uint64_t>& counts) {
  if (counts.empty()) return {};
  std::string text = fmt::format("\n| {} | |\n|---|---|\n", title);
  for (const auto& [name, count] : counts) text += fmt::format("| {} | {} |\n", table_cell(name), count);
  return text;
}

}  // namespace kw
