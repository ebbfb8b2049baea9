// Formats for dataset cards and reports: YAML scalars, foreign text in Markdown, table cells, the hub's
// identifiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kw {

// A YAML scalar: JSON strings are valid YAML.
std::string yaml_text(std::string_view text);

// The hub's identifier of an SPDX licence: "Apache-2.0" → "apache-2.0", "GPL-3.0-only" → "gpl-3.0". "other"
// for licences that the hub does not know, including expressions: it refuses cards with other words.
std::string hub_licence(std::string_view spdx);

// "10K<n<100K": the hub's category for this number of rows.
std::string_view size_category(std::uint64_t rows);

// Text for a cell of a Markdown table: escaped, so that a name cannot end a cell or make a link or HTML, and
// shortened.
std::string table_cell(std::string_view text, std::size_t max_bytes = 400);

// Foreign text as one line of Markdown, also within a table: no markup, HTML, formula or link; hidden and
// reordering characters are named. At most 4,000 bytes before it is escaped.
std::string markdown_text(std::string_view text);

// A table of counts by name with this heading; empty if there are none.
std::string counts_table(std::string_view title, const std::map<std::string, std::uint64_t>& counts);

}  // namespace kw
