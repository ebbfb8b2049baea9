#include "dataset/analysis_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schema/card.h"

namespace kw::dataset {
namespace {

using Named = std::pair<std::string, std::uint64_t>;

// The most frequent first, equal ones by name; what is over `most` becomes one entry.
std::vector<Named> ranked(const Counts& counts, std::size_t most) {
  std::vector<Named> list(counts.begin(), counts.end());
  std::erase_if(list, [](const Named& each) { return each.second == 0; });
  std::ranges::sort(list, [](const Named& a, const Named& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (list.size() <= most + 1) return list;
  Named others{fmt::format("{} others", list.size() - most), 0};
  for (std::size_t i = most; i < list.size(); ++i) others.second += list[i].second;
  list.resize(most);
  list.push_back(std::move(others));
  return list;
}

std::string line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (part == 0 || whole == 0) return "0%";
  double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return share < 0.05 ? "&lt;0.1%" : fmt::format("{:.1f}%", share);
}

std::uint64_t sum(const Counts& counts) {
  std::uint64_t all = 0;
  for (const auto& [name, count] : counts) all += count;
  return all;
}

std::uint64_t count_of(const Counts& counts, const std::string& name) {
  auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

std::string in_words(const Counts& counts, std::size_t most) {
  std::vector<std::string> words;
  for (const auto& [name, count] : ranked(counts, most))
    words.push_back(fmt::format("{} {}", grouped(count), table_cell(name)));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string markdown(const Table& table) {
  if (table.rows.empty()) return {};
  std::vector<std::string> rules(table.heads.size(), table.all_text ? "---" : "--:");
  rules.front() = "---";
  std::string text = "\n" + line(table.heads) + fmt::format("|{}|\n", fmt::join(rules, "|"));
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string shares(std::string_view title, const Counts& counts, std::uint64_t whole, std::size_t most) {
  Table table{.heads = {std::string(title), "rows", "share"}};
  for (const auto& [name, count] : ranked(counts, most))
    table.rows.push_back({table_cell(name), grouped(count), percent(count, whole)});
  return markdown(table);
}

}  // namespace kw::dataset
