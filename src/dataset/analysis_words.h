// Words and tables that the reports share.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/facts.h"

namespace kw::dataset {

// "1,234,567"
std::string grouped(std::uint64_t number);
// "12.3%", "&lt;0.1%" for what rounds to nothing, "0%" of nothing. For Markdown.
std::string percent(std::uint64_t part, std::uint64_t whole);

// JSON to read: indented, numbers with as few digits as they need.
std::string readable(const boost::json::value& value);

std::uint64_t sum(const Counts& counts);
std::uint64_t count_of(const Counts& counts, const std::string& name);

// "10 fim, 2 trace": the most frequent first; "none" where there is nothing. At most `most` names, the rest
// as "3 others".
std::string in_words(const Counts& counts, std::size_t most = 8);

// A Markdown table. Cells stand as they are given; the first column is text, the others are numbers unless
// `all_text`.
struct Table {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows = {};
  bool all_text = false;
};
std::string markdown(const Table& table);

// Names, counts and shares of all `whole`, the most frequent first, at most `most` and the rest in one line.
std::string shares(std::string_view title, const Counts& counts, std::uint64_t whole, std::size_t most = 20);

}  // namespace kw::dataset
