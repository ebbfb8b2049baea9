#include <boost/json/array.hpp>
#include <map>

#include "scoring/sections.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

struct Property {
  const char* name;
  bool (*holds)(const StaticFacts&);
};

constexpr Property properties[] = {
    {"good", [](const StaticFacts& facts) { return facts.is_good; }},
    {"parses", [](const StaticFacts& facts) { return facts.parses; }},
    {"has_jit", [](const StaticFacts& facts) { return facts.has_jit; }},
    {"is_launched", [](const StaticFacts& facts) { return facts.is_launched; }},
    {"loads", [](const StaticFacts& facts) { return facts.loads; }},
    {"masked_loads", [](const StaticFacts& facts) { return facts.masked_loads; }},
    {"stores", [](const StaticFacts& facts) { return facts.stores; }},
    {"masked_stores", [](const StaticFacts& facts) { return facts.masked_stores; }},
    {"boundary_checks", [](const StaticFacts& facts) { return facts.boundary_checks; }},
    {"constexpr_blocks", [](const StaticFacts& facts) { return facts.constexpr_blocks; }},
    {"native_code", [](const StaticFacts& facts) { return facts.native_code; }},
    {"forbidden", [](const StaticFacts& facts) { return facts.forbidden > 0; }},
    {"torch_work", [](const StaticFacts& facts) { return facts.torch_work > 0; }}};

// One value an item, the mean of its outputs' values: samples of one task resemble each other.
class ItemMeans {
 public:
  void add(const std::string& item, double value) {
    auto& [sum, all] = items_[item];
    sum += value;
    all += 1;
  }
  std::vector<double> values() const {
    std::vector<double> means;
    for (const auto& [item, sums] : items_) means.push_back(sums.first / sums.second);
    return means;
  }

 private:
  std::map<std::string, std::pair<double, double>> items_;
};

score::Estimate share_of(const std::vector<const Record*>& records, const Property& property,
                         const Figures& figures) {
  ItemMeans items;
  for (const Record* record : records) items.add(record->item, property.holds(*record->idioms) ? 1 : 0);
  return score::mean_over_tasks(items.values(), figures.bootstrap);
}

score::Estimate share_of(const std::vector<const Output*>& pairs, bool score::Overlap::* holds,
                         const Figures& figures) {
  ItemMeans items;
  for (const Output* pair : pairs) items.add(pair->record.item, (*pair->overlap).*holds ? 1 : 0);
  return score::mean_over_tasks(items.values(), figures.bootstrap);
}

score::Estimate mean_bleu(const std::vector<const Output*>& pairs, const Figures& figures) {
  ItemMeans items;
  for (const Output* pair : pairs)
    if (pair->overlap->bleu) items.add(pair->record.item, *pair->overlap->bleu);
  return score::bootstrap_mean(items.values(), figures.bootstrap);
}

json::value number_or_null(const std::optional<double>& number) {
  return number ? json::value(*number) : json::value();
}

}  // namespace

json::value static_section(const std::vector<Record>& records, const Figures& figures) {
  std::vector<const Record*> looked_at;
  std::map<std::string, std::size_t> disguises;
  for (const Record& record : records) {
    if (!record.is_scored || !record.idioms) continue;
    looked_at.push_back(&record);
    if (!record.idioms->disguise.empty()) ++disguises[record.idioms->disguise];
  }
  if (looked_at.empty()) return {};
  json::array rows;
  for (const Property& property : properties) {
    std::size_t outputs = 0;
    for (const Record* record : looked_at) outputs += property.holds(*record->idioms);
    json::object row = to_json(share_of(looked_at, property, figures), figures.bootstrap.confidence);
    row["name"] = property.name;
    row["outputs"] = outputs;
    rows.push_back(std::move(row));
  }
  json::object disguised;
  for (const auto& [name, count] : disguises) disguised[name] = count;
  return json::object{
      {"outputs", looked_at.size()}, {"properties", std::move(rows)}, {"disguises", std::move(disguised)}};
}

json::value overlap_section(std::span<const Output> outputs, const Figures& figures) {
  std::vector<const Output*> pairs;
  std::vector<score::Overlap> overlaps;
  std::map<std::string_view, std::size_t> reasons;
  for (const Output& output : outputs) {
    if (!output.record.is_scored || !output.overlap) continue;
    pairs.push_back(&output);
    overlaps.push_back(*output.overlap);
    if (!output.overlap->bleu) ++reasons[output.overlap->why_no_bleu];
  }
  if (pairs.empty()) return {};
  std::size_t with_bleu = pairs.size();
  json::object without_bleu;
  for (const auto& [reason, count] : reasons) {
    without_bleu[reason] = count;
    with_bleu -= count;
  }
  auto estimate = [&](const score::Estimate& one) { return to_json(one, figures.bootstrap.confidence); };
  score::Estimate bleu = mean_bleu(pairs, figures);
  return json::object{{"pairs", pairs.size()},
                      {"exact", estimate(share_of(pairs, &score::Overlap::exact, figures))},
                      {"exact_tokens", estimate(share_of(pairs, &score::Overlap::exact_tokens, figures))},
                      {"exact_renamed", estimate(share_of(pairs, &score::Overlap::exact_renamed, figures))},
                      {"corpus_bleu", number_or_null(score::corpus_bleu(overlaps))},
                      {"mean_bleu", number_or_null(bleu.value)},
                      {"mean_bleu_over_items", estimate(bleu)},
                      {"with_bleu", with_bleu},
                      {"without_bleu", std::move(without_bleu)}};
}

json::value compile_section(const std::vector<Record>& records, std::size_t asked, const Figures& figures) {
  std::map<std::string, std::size_t> labels;
  std::map<std::string, std::size_t> reasons;
  for (const Record& record : records) {
    if (record.compile.empty()) continue;
    ++labels[record.compile];
    if (record.compile == "fails") ++reasons[record.compile_reason];
  }
  if (labels.empty()) return {};
  std::size_t known = labels["compilable"] + labels["fails"];
  json::object counts;
  for (const auto& [name, count] : labels)
    if (count > 0) counts[name] = count;
  json::object why;
  for (const auto& [reason, count] : reasons) why[reason] = count;
  return json::object{
      {"asked", asked},
      {"labels", std::move(counts)},
      {"why_it_fails", std::move(why)},
      {"compilable", to_json(score::share(labels["compilable"], known, figures.bootstrap.confidence),
                             figures.bootstrap.confidence)}};
}

}  // namespace kw::scoring
