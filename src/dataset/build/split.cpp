#include "dataset/build/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/core/crypto.h"
#include "code/similarity/join.h"
#include "dataset/build/ordered.h"

namespace kw::dataset {
namespace {

std::string place_in_order(const std::string& name, std::uint64_t seed) {
  return sha256_hex(fmt::format("{} {}", seed, name)).substr(0, 12);
}

// The families that enter validation with this one, itself included, without those that are there.
std::vector<std::uint32_t> with_users(const std::vector<Family>& families, std::uint32_t first,
                                      const std::vector<bool>& taken) {
  std::vector<std::uint32_t> found{first};
  std::set<std::uint32_t> seen{first};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::uint32_t user : families[found[i]].users)
      if (!taken[user] && seen.insert(user).second) found.push_back(user);
  return found;
}

}  // namespace

bool in_validation(const std::string& name, std::uint64_t seed, double share) {
  return static_cast<double>(std::stoull(place_in_order(name, seed), nullptr, 16)) <
         share * static_cast<double>(1ULL << 48U);
}

std::vector<bool> choose_validation(const std::vector<Family>& families, double share, std::uint64_t seed) {
  std::vector<bool> taken(families.size());
  double all = 0;
  std::vector<std::tuple<std::string, std::string, std::uint32_t>> order;
  for (std::uint32_t i = 0; i < families.size(); ++i) {
    all += static_cast<double>(families[i].kernels);
    if (families[i].kernels > 0)
      order.emplace_back(place_in_order(families[i].name, seed), families[i].name, i);
  }
  std::ranges::sort(order);
  const double wanted = share * all;
  double have = 0;
  for (double largest : {std::max(1.0, wanted / 4), all}) {
    for (const auto& [hash, name, number] : order) {
      if (taken[number] || have >= wanted) continue;
      auto group = with_users(families, number, taken);
      double kernels = 0;
      for (std::uint32_t member : group) kernels += static_cast<double>(families[member].kernels);
      if (kernels > largest || std::abs(have + kernels - wanted) >= wanted - have) continue;
      for (std::uint32_t member : group) taken[member] = true;
      have += kernels;
    }
  }
  return taken;
}

namespace {

using corpus::UnitKind;

bool has_rows(const UnitStore& units, const std::vector<UnitFate>& fates, std::uint32_t unit, bool cuda_fim) {
  UnitKind kind = units.cards()[unit].kind;
  return fates[unit].fate == Fate::kept &&
         (kind == UnitKind::triton || (cuda_fim && kind != UnitKind::torch));
}

// One unit of each different text, a kept one where there is one. Connects the others with it.
std::vector<std::uint32_t> different_texts(const UnitStore& units, const std::vector<UnitFate>& fates,
                                           near::Components& components) {
  std::unordered_map<std::string, std::uint32_t> first;
  std::vector<std::uint32_t> numbers;
  for (bool kept : {true, false})
    for (std::uint32_t i = 0; i < units.cards().size(); ++i) {
      if ((fates[i].fate == Fate::kept) != kept) continue;
      auto [found, is_new] = first.try_emplace(units.cards()[i].key, i);
      if (is_new) numbers.push_back(i);
      components.connect(found->second, i);
    }
  return numbers;
}

corpus::Leak resembles(const UnitCard& other, double jaccard) {
  corpus::Leak leak;
  leak.relation = "rows";
  leak.against = "units of this set";
  leak.row = other.id;
  leak.jaccard = jaccard;
  return leak;
}

// A hole shows the launcher alone, the rewrite of a pair also the code that the launcher needs.
bool shows(const corpus::Unit& unit, bool is_rewrite, const std::string& text) {
  auto has = [&](const std::string& code) { return code.find(text) != std::string::npos; };
  return has(unit.context) || has(unit.launcher.text) || (is_rewrite && has(unit.launcher.context));
}

class Splitting {
 public:
  Splitting(const UnitStore& units, const std::vector<UnitFate>& fates, const BuildSettings& settings,
            const Watch& watch)
      : units_(units),
        fates_(fates),
        settings_(settings),
        watch_(watch),
        components_(static_cast<std::uint32_t>(fates.size())) {}

  Result<UnitSplit> run(const FoundPairs& pairs, SplitFacts& facts) {
    connect_files();
    connect_copies();
    if (auto done = connect_similar_words(); !done) return std::unexpected(done.error());
    number_families();
    std::set<std::uint32_t> rewrites;
    for (const auto* found : {&pairs.cuda, &pairs.torch})
      for (const FoundPair& pair : *found) {
        add_user(pair.from, pair.to);
        rewrites.insert(pair.to);
      }
    if (auto done = find_helpers(rewrites); !done) return std::unexpected(done.error());
    choose(facts);
    if (auto done = find_across(); !done) return std::unexpected(done.error());
    return std::move(split_);
  }

 private:
  const std::vector<UnitCard>& cards() const { return units_.cards(); }
  bool is_kept(std::uint32_t unit) const { return fates_[unit].fate == Fate::kept; }

  void connect_files() {
    std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> first;
    for (std::uint32_t i = 0; i < cards().size(); ++i)
      components_.connect(first.try_emplace({cards()[i].source, cards()[i].path}, i).first->second, i);
  }

  void connect_copies() {
    for (std::uint32_t i = 0; i < fates_.size(); ++i)
      if (fates_[i].fate != Fate::out && !is_kept(i)) components_.connect(i, fates_[i].kept_as);
  }

  // Also of dropped units: their texts are in the prompts of their neighbours.
  Result<> connect_similar_words() {
    std::vector<std::uint32_t> numbers = different_texts(units_, fates_, components_);
    near::Parameters words = settings_.near;
    words.shingle_tokens = 1;
    words.words_only = true;
    words.threshold = settings_.leak.jaccard;
    std::uint64_t sketched_bytes = 0;
    auto joined = join_units(units_, numbers, words, settings_, watch_, sketched_bytes);
    if (!joined) return std::unexpected(joined.error());
    for (const near::Pair& pair : joined->pairs) {
      std::uint32_t a = numbers[pair.a];
      std::uint32_t b = numbers[pair.b];
      components_.connect(a, b);
      note_pair(a, b, pair.jaccard);
    }
    return {};
  }

  void note_pair(std::uint32_t a, std::uint32_t b, double jaccard) {
    if (!is_kept(a) || !is_kept(b)) return;
    split_.leaks[a].push_back(resembles(cards()[b], jaccard));
    split_.leaks[b].push_back(resembles(cards()[a], jaccard));
  }

  void number_families() {
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    family_of_.resize(cards().size());
    for (std::uint32_t i = 0; i < cards().size(); ++i) {
      auto next = static_cast<std::uint32_t>(families_.size());
      auto [found, is_new] = numbers.try_emplace(components_.of(i), next);
      if (is_new) families_.push_back({cards()[i].id, 0, {}});
      family_of_[i] = found->second;
      Family& family = families_[found->second];
      family.name = std::min(family.name, cards()[i].id);
      if (has_rows(units_, fates_, i, settings_.cuda_fim)) ++family.kernels;
    }
  }

  // Rows of `user` show the text of `used`.
  void add_user(std::uint32_t used, std::uint32_t user) {
    if (family_of_[used] != family_of_[user]) families_[family_of_[used]].users.push_back(family_of_[user]);
  }

  using Names = std::map<std::pair<std::uint32_t, std::string_view>, std::vector<std::uint32_t>>;

  // The units that other units may have in their contexts, by source and name, and their texts.
  Result<> read_helpers(Names& helpers, std::unordered_map<std::uint32_t, std::string>& texts) const {
    for (const UnitCard& card : cards())
      for (const std::string& name : card.helpers) helpers.try_emplace({card.source, name});
    for (std::uint32_t i = 0; i < cards().size(); ++i) {
      auto found = helpers.find({cards()[i].source, cards()[i].name});
      if (found == helpers.end()) continue;
      auto text = units_.text(i);
      if (!text) return std::unexpected(text.error());
      found->second.push_back(i);
      texts.emplace(i, std::move(*text));
    }
    return {};
  }

  Result<> find_helpers(const std::set<std::uint32_t>& rewrites) {
    Names helpers;
    std::unordered_map<std::uint32_t, std::string> texts;
    if (auto done = read_helpers(helpers, texts); !done) return done;
    using Found = Result<std::vector<std::pair<std::uint32_t, std::uint32_t>>>;
    Result<> outcome;
    Ordered<std::uint32_t, Found> pool(
        settings_.threads,
        [&](std::uint32_t user) -> Found {
          auto unit = units_.at(user);
          if (!unit) return std::unexpected(unit.error());
          std::vector<std::pair<std::uint32_t, std::uint32_t>> used;
          for (const std::string& name : cards()[user].helpers)
            for (std::uint32_t helper : helpers.at({cards()[user].source, name}))
              if (shows(*unit, rewrites.contains(user), texts.at(helper))) used.emplace_back(helper, user);
          return used;
        },
        [&](Found used) {
          if (!used) outcome = std::unexpected(used.error());
          if (!used) return;
          for (auto [helper, user] : *used) add_user(helper, user);
        });
    for (std::uint32_t i = 0; i < cards().size(); ++i)
      if (!cards()[i].helpers.empty()) pool.push(i);
    pool.finish();
    return outcome;
  }

  void choose(SplitFacts& facts) {
    for (Family& family : families_) {
      std::ranges::sort(family.users);
      auto repeated = std::ranges::unique(family.users);
      family.users.erase(repeated.begin(), repeated.end());
    }
    auto chosen = choose_validation(families_, settings_.validation_share, settings_.seed);
    split_.validation.resize(cards().size());
    for (std::uint32_t i = 0; i < cards().size(); ++i) split_.validation[i] = chosen[family_of_[i]];
    for (std::uint32_t i = 0; i < families_.size(); ++i) {
      if (families_[i].kernels == 0) continue;
      ++(chosen[i] ? facts.validation_families : facts.train_families);
      (chosen[i] ? facts.validation_kernels : facts.train_kernels) += families_[i].kernels;
      facts.largest_family = std::max(facts.largest_family, families_[i].kernels);
    }
  }

  // Finds train units that contain pieces of validation units.
  Result<> find_across() {
    std::vector<leak::Reference> references;
    for (std::uint32_t unit = 0; unit < cards().size(); ++unit) {
      if (!is_kept(unit) || !split_.validation[unit]) continue;
      auto text = units_.text(unit);
      if (!text) return std::unexpected(text.error());
      references.push_back({"validation", cards()[unit].id, std::move(*text)});
    }
    // Independent kernels of one family share some lines, so short runs are not leaks here.
    leak::Thresholds thresholds = settings_.leak;
    thresholds.least_windows = std::numeric_limits<std::size_t>::max();
    leak::Index index(std::move(references), thresholds);
    using Leaks = std::pair<std::uint32_t, Result<std::vector<corpus::Leak>>>;
    Result<> outcome;
    Ordered<std::uint32_t, Leaks> pool(
        settings_.threads,
        [&](std::uint32_t unit) -> Leaks {
          auto text = units_.text(unit);
          if (!text) return {unit, std::unexpected(text.error())};
          return {unit, index.check(*text, "unit")};
        },
        [&](Leaks leaks) {
          if (!leaks.second) outcome = std::unexpected(leaks.second.error());
          if (!leaks.second || leaks.second->empty()) return;
          for (corpus::Leak& leak : *leaks.second) leak.relation = "split";
          auto& all = split_.leaks[leaks.first];
          all.insert(all.end(), leaks.second->begin(), leaks.second->end());
        });
    for (std::uint32_t unit = 0; unit < cards().size(); ++unit)
      if (is_kept(unit) && !split_.validation[unit]) pool.push(unit);
    pool.finish();
    return outcome;
  }

  const UnitStore& units_;
  const std::vector<UnitFate>& fates_;
  const BuildSettings& settings_;
  const Watch& watch_;
  near::Components components_;
  std::vector<std::uint32_t> family_of_;  // by unit
  std::vector<Family> families_;
  UnitSplit split_;
};

}  // namespace

Result<UnitSplit> split_units(const UnitStore& units, const std::vector<UnitFate>& fates,
                              const FoundPairs& pairs, const BuildSettings& settings, const Watch& watch,
                              SplitFacts& facts) {
  return Splitting(units, fates, settings, watch).run(pairs, facts);
}

}  // namespace kw::dataset
