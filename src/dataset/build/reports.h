// Text and tables for the reports: ANALYSIS.md, PROVENANCE.md and the card.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/build/build_summary.h"

namespace kw::dataset {

// "12.3%", "&lt;0.1%" for a share that rounds to 0, "0%" if the whole is 0. For Markdown.
std::string percent(std::uint64_t part, std::uint64_t whole);

// The meaning of a key of RowFacts::leaks: "benchmark KernelBench" → "similar to the benchmark KernelBench".
std::string flag_in_words(std::string_view key);

// Indented JSON, with the shortest exact form of numbers.
std::string readable(const boost::json::value& value);

std::uint64_t sum(const Counts& counts);
std::uint64_t count_of(const Counts& counts, const std::string& name);

// "10 fim, 2 trace": the most frequent first; "none" if empty. At most `most` names; the rest is "3 others".
std::string in_words(const Counts& counts, std::size_t most = 8);

// A Markdown table. Cells are not escaped. The first column is text, the others are numbers unless
// `all_text`.
struct Table {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows = {};
  bool all_text = false;
};
std::string markdown(const Table& table);

// Names, counts and shares of `whole`, the most frequent first; at most `most` lines, and one line for the
// rest.
std::string shares(std::string_view title, const Counts& counts, std::uint64_t whole, std::size_t most = 20);

// The restrictions on use of these licences, each once: "LicenseRef-NonCommercial restricts commercial use".
std::vector<std::string> restrictions(const Counts& licences);

// The card's section on what the data set cannot be relied on for.
std::string limitations(const BuildSummary& facts);

}  // namespace kw::dataset
