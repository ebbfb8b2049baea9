#include "leak/window_table.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "leak/mix.h"

namespace kw::leak {
namespace {

// Of one window in one reference; more of them are repetitions.
constexpr std::size_t most_positions = 8;

struct Entry {
  std::uint64_t key = 0;
  std::uint32_t reference = 0;
  std::uint32_t position = 0;
};

std::vector<Entry> sorted_entries(const std::vector<ReferenceWindows>& references) {
  std::vector<Entry> entries;
  std::size_t count = 0;
  for (const ReferenceWindows& reference : references) count += reference.windows.size();
  entries.reserve(count);
  for (std::size_t r = 0; r < references.size(); ++r)
    for (std::size_t p = 0; p < references[r].windows.size(); ++p)
      entries.push_back(
          {references[r].windows[p].key, static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(p)});
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.key, a.reference, a.position) < std::tie(b.key, b.reference, b.position);
  });
  return entries;
}

// Decides which windows of which benchmark say something.
class Census {
 public:
  explicit Census(const std::vector<ReferenceWindows>& references) {
    std::unordered_map<std::uint64_t, std::uint32_t> known;
    std::map<std::uint32_t, std::set<std::uint32_t>> benchmarks;
    for (const ReferenceWindows& reference : references) {
      // References with the same windows are one text that came in several ways.
      std::uint64_t hash = reference.benchmark;
      for (const Window& window : reference.windows) hash = mix(hash ^ window.key);
      auto number = static_cast<std::uint32_t>(known.size());
      texts_.push_back({reference.benchmark, known.try_emplace(hash, number).first->second});
      benchmarks[reference.benchmark].insert(texts_.back().number);
    }
    for (const auto& [benchmark, texts] : benchmarks) most_[benchmark] = most_sharing(texts.size());
  }

  // Benchmarks in which few enough texts have the window: all its entries are given.
  std::vector<std::uint32_t> telling(std::span<const Entry> entries) const {
    std::vector<Text> sharing;
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (i == 0 || entries[i].reference != entries[i - 1].reference)
        sharing.push_back(texts_[entries[i].reference]);
    std::ranges::sort(sharing);
    sharing.erase(std::ranges::unique(sharing).begin(), sharing.end());
    std::vector<std::uint32_t> found;
    for (std::size_t begin = 0, end = 0; begin < sharing.size(); begin = end) {
      while (end < sharing.size() && sharing[end].benchmark == sharing[begin].benchmark) ++end;
      if (end - begin <= most_.at(sharing[begin].benchmark)) found.push_back(sharing[begin].benchmark);
    }
    return found;
  }

  std::uint32_t benchmark(std::uint32_t reference) const { return texts_[reference].benchmark; }

 private:
  struct Text {
    std::uint32_t benchmark = 0;
    std::uint32_t number = 0;
    auto operator<=>(const Text&) const = default;
  };
  std::vector<Text> texts_;  // of each reference
  std::map<std::uint32_t, std::size_t> most_;
};

}  // namespace

std::size_t most_sharing(std::size_t texts) {
  return std::clamp<std::size_t>(2 * texts / 25, 3, 32);
}

WindowTable::WindowTable(const std::vector<ReferenceWindows>& references, std::span<const Window> silent) {
  Census census(references);
  std::unordered_set<std::uint64_t> silenced;
  for (const Window& window : silent) silenced.insert(window.key);
  std::vector<Entry> entries = sorted_entries(references);
  std::vector<Slot> groups;
  for (std::size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    while (end < entries.size() && entries[end].key == entries[begin].key) ++end;
    std::span<const Entry> group(entries.data() + begin, end - begin);
    if (silenced.contains(group[0].key)) continue;
    std::vector<std::uint32_t> telling = census.telling(group);
    auto first = static_cast<std::uint32_t>(postings_.size());
    for (const Entry& entry : group) {
      if (!std::ranges::binary_search(telling, census.benchmark(entry.reference))) continue;
      auto before = std::span(postings_).subspan(first);
      bool repeats = before.size() >= most_positions &&
                     before[before.size() - most_positions].reference == entry.reference;
      if (!repeats) postings_.push_back({entry.reference, entry.position});
    }
    auto count = static_cast<std::uint32_t>(postings_.size()) - first;
    if (count > 0) groups.push_back({group[0].key, first, count});
  }
  fill_slots(groups);
  number_windows(references);
}

void WindowTable::fill_slots(const std::vector<Slot>& groups) {
  slots_.resize(std::bit_ceil(2 * groups.size() + 1));
  for (const Slot& group : groups) {
    std::size_t at = group.key & (slots_.size() - 1);
    while (slots_[at].count != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = group;
  }
}

void WindowTable::number_windows(const std::vector<ReferenceWindows>& references) {
  for (const ReferenceWindows& reference : references) {
    starts_.push_back(written_.size());
    for (const Window& window : reference.windows) written_.push_back(window.written);
  }
  ranks_.resize(written_.size());
  for (const Posting& at : postings_) ranks_[starts_[at.reference] + at.position] = 1;
  for (std::size_t r = 0; r < references.size(); ++r) {
    std::uint32_t count = 0;
    for (std::size_t p = 0; p < references[r].windows.size(); ++p)
      count += std::exchange(ranks_[starts_[r] + p], count);
    telling_.push_back(count);
  }
}

std::span<const WindowTable::Posting> WindowTable::find(std::uint64_t key) const {
  for (std::size_t at = key & (slots_.size() - 1); slots_[at].count != 0; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].key == key) return std::span(postings_).subspan(slots_[at].first, slots_[at].count);
  return {};
}

}  // namespace kw::leak
