// What cards and reports of data sets are written with: YAML scalars, table cells, the hub's own words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kw {

// As a YAML scalar: JSON's strings are YAML's.
std::string yaml_text(std::string_view text);

// The hub's identifier of an SPDX licence: "Apache-2.0" → "apache-2.0", "GPL-3.0-only" → "gpl-3.0". "other"
// for what the hub does not know, expressions among it: it refuses cards with any other word.
std::string hub_licence(std::string_view spdx);

// "10K<n<100K": the hub's word for so many rows.
std::string_view size_category(std::uint64_t rows);

// Text for a cell of a Markdown table: what a name may bring along ends no cell, makes no link and no HTML.
std::string table_cell(std::string_view text);

// A table of counts with this heading, by name; nothing where there are none.
std::string counts_table(std::string_view title, const std::map<std::string, std::uint64_t>& counts);

}  // namespace kw
