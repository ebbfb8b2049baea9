#include "dataset/row_choice.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace kw::dataset {
namespace {

struct Shingled {
  std::uint32_t row = 0;
  std::vector<std::uint64_t> all;
  std::vector<std::uint64_t> completion;
};

// Groups of rows that pairs connect, each sorted, by their smallest row.
std::vector<std::vector<std::uint32_t>> groups_of(const std::vector<near::Pair>& pairs) {
  std::unordered_map<std::uint32_t, std::uint32_t> parent;
  auto root = [&](std::uint32_t row) {
    parent.try_emplace(row, row);
    while (parent[row] != row) row = parent[row] = parent[parent[row]];
    return row;
  };
  for (const near::Pair& pair : pairs) {
    std::uint32_t a = root(pair.a);
    std::uint32_t b = root(pair.b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_root;
  for (const auto& [row, ignored] : std::map(parent.begin(), parent.end())) by_root[root(row)].push_back(row);
  std::vector<std::vector<std::uint32_t>> groups;
  for (auto& [first, rows] : by_root) groups.push_back(std::move(rows));
  return groups;
}

Result<Shingled> shingled(const RowFiles& files, std::uint32_t number, const near::Parameters& parameters) {
  auto row = files.at(number);
  if (!row) return std::unexpected(row.error());
  return Shingled{number, near::shingle_set(text_of(*row), parameters),
                  near::shingle_set(row->completion, parameters)};
}

std::optional<DroppedRow> like(const Shingled& row, const Shingled& kept, double threshold) {
  double all = near::jaccard(row.all, kept.all);
  if (all < threshold) return std::nullopt;
  double completion = near::jaccard(row.completion, kept.completion);
  if (completion < threshold) return std::nullopt;
  return DroppedRow{row.row, kept.row, all, completion, false};
}

}  // namespace

std::string text_of(const table::TextRow& row) {
  return row.prompt.empty() ? row.completion : row.prompt + "\n" + row.completion;
}

Result<std::vector<DroppedRow>> choose_rows(const RowFiles& files, const std::vector<near::Pair>& pairs,
                                            const near::Parameters& parameters,
                                            const std::function<bool(std::uint32_t, std::uint32_t)>& better,
                                            const std::function<bool(std::uint32_t)>& fixed) {
  std::vector<DroppedRow> dropped;
  for (std::vector<std::uint32_t>& group : groups_of(pairs)) {
    std::ranges::sort(group, better);
    std::vector<Shingled> kept;
    for (std::uint32_t number : group) {
      auto row = shingled(files, number, parameters);
      if (!row) return std::unexpected(row.error());
      std::optional<DroppedRow> found;
      for (std::size_t i = 0; i < kept.size() && !found && !fixed(number); ++i)
        found = like(*row, kept[i], parameters.threshold);
      if (found)
        dropped.push_back(*found);
      else
        kept.push_back(std::move(*row));
    }
  }
  std::ranges::sort(dropped, {}, &DroppedRow::row);
  return dropped;
}

}  // namespace kw::dataset
