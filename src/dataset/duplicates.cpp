#include "dataset/duplicates.h"

#include <algorithm>
#include <unordered_map>

namespace kw::dataset {
namespace {

int compile_rank(const UnitCard& card) {
  switch (card.labels.compile) {
    case corpus::CompileLabel::compilable:
      return 3;
    case corpus::CompileLabel::signature_unknown:
      return 2;
    case corpus::CompileLabel::not_tried:
      return 1;
    case corpus::CompileLabel::fails:
      break;
  }
  return 0;
}

// The better of two units with the same key stands; the other one points to it.
class Keys {
 public:
  Keys(const UnitStore& units, std::vector<UnitFate>& fates, Fate fate)
      : units_(units), fates_(fates), fate_(fate) {}

  std::uint64_t dropped() const { return dropped_; }

  void add(std::uint32_t number, const std::string& key) {
    auto [found, is_new] = best_.try_emplace(key, number);
    if (is_new) return;
    ++dropped_;
    std::uint32_t other = found->second;
    if (better(units_.cards()[number], units_.cards()[other])) std::swap(number, other);
    found->second = other;
    fates_[number] = {fate_, other, 1, false};
  }

 private:
  const UnitStore& units_;
  std::vector<UnitFate>& fates_;
  Fate fate_;
  std::unordered_map<std::string, std::uint32_t> best_;
  std::uint64_t dropped_ = 0;
};

std::string with_kind(const UnitCard& card, const std::string& key) {
  return std::to_string(static_cast<int>(card.kind)) + key;
}

// What was kept when a unit was dropped may have been dropped since.
void follow(std::vector<UnitFate>& fates) {
  for (UnitFate& fate : fates)
    while (fate.fate != Fate::kept && fate.fate != Fate::out && fates[fate.kept_as].fate != Fate::kept)
      fate.kept_as = fates[fate.kept_as].kept_as;
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::kept:
      return "kept";
    case Fate::exact:
      return "exact";
    case Fate::renamed:
      return "renamed";
    case Fate::near:
      return "near";
    case Fate::out:
      break;
  }
  return "out";
}

bool better(const UnitCard& a, const UnitCard& b) {
  if (a.spdx.empty() != b.spdx.empty()) return b.spdx.empty();
  if (int x = compile_rank(a), y = compile_rank(b); x != y) return x > y;
  if (a.stars != b.stars) return a.stars > b.stars;
  if (a.labels.self_contained != b.labels.self_contained) return a.labels.self_contained;
  if (a.text_bytes != b.text_bytes) return a.text_bytes > b.text_bytes;
  return a.id < b.id;
}

std::vector<UnitFate> drop_equal(const UnitStore& units, const std::function<bool(const UnitCard&)>& wanted,
                                 DuplicateFacts& facts) {
  const auto& cards = units.cards();
  std::vector<UnitFate> fates(cards.size());
  Keys exact(units, fates, Fate::exact);
  for (std::uint32_t i = 0; i < cards.size(); ++i) {
    if (!wanted(cards[i])) continue;
    fates[i].fate = Fate::kept;
    exact.add(i, with_kind(cards[i], cards[i].key));
  }
  Keys renamed(units, fates, Fate::renamed);
  for (std::uint32_t i = 0; i < cards.size(); ++i)
    if (fates[i].fate == Fate::kept) renamed.add(i, with_kind(cards[i], cards[i].renamed_sha1));
  follow(fates);
  facts.exact_units = exact.dropped();
  facts.renamed_units = renamed.dropped();
  return fates;
}

}  // namespace kw::dataset
