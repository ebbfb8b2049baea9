#include "dataset/build/row_sink.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "dataset/units/row.h"

namespace kw::dataset {
namespace {

// Shorter completions are too short for a meaningful search in the prompt.
constexpr std::size_t least_completion_bytes = 200;

void append_leaks(std::vector<corpus::Leak>& all, std::vector<corpus::Leak> more, const char* relation) {
  for (corpus::Leak& leak : more) {
    leak.relation = relation;
    all.push_back(std::move(leak));
  }
}

// Finds the completion in its own prompt. Training on such a row teaches copying.
std::vector<corpus::Leak> within(std::string_view prompt, std::string_view completion,
                                 leak::Thresholds thresholds) {
  // A kernel's context may legitimately repeat pieces of its body, so short runs are not leaks here.
  thresholds.least_windows = std::numeric_limits<std::size_t>::max();
  std::vector<corpus::Leak> leaks;
  if (completion.size() >= least_completion_bytes)
    leaks = leak::Index({{"completion", "", std::string(completion)}}, thresholds).check(prompt, "prompt");
  if (!leaks.empty()) return leaks;
  double jaccard = leak::word_jaccard(prompt, completion);
  if (jaccard < thresholds.jaccard) return {};
  corpus::Leak leak;
  leak.against = "completion";
  leak.field = "prompt";
  leak.jaccard = jaccard;
  return {leak};
}

}  // namespace

std::vector<corpus::Leak> row_leaks(std::string_view prompt, std::string_view completion,
                                    const leak::Index& benchmarks, const leak::Thresholds& thresholds) {
  std::vector<corpus::Leak> leaks;
  append_leaks(leaks, benchmarks.check(prompt, "prompt"), "benchmark");
  append_leaks(leaks, benchmarks.check(completion, "completion"), "benchmark");
  append_leaks(leaks, within(prompt, completion, thresholds), "prompt_completion");
  return leaks;
}

void sort_leaks(std::vector<corpus::Leak>& leaks) {
  using Place = std::pair<double, std::size_t>;  // equally strong flags keep their order
  std::vector<Place> places;
  for (std::size_t i = 0; i < leaks.size(); ++i) {
    const corpus::Leak& leak = leaks[i];
    places.emplace_back(-std::max(leak.jaccard, leak.containment), i);
  }
  std::ranges::sort(places);
  std::vector<corpus::Leak> sorted;
  for (const Place& place : places) sorted.push_back(std::move(leaks[place.second]));
  leaks = std::move(sorted);
}

namespace {

bool of_benchmark(const corpus::Leak& leak) {
  return leak.relation == "benchmark";
}

}  // namespace

RowSink::RowSink(const BuildSettings& settings, const Review& review, const leak::Index& benchmarks,
                 JsonlWriter rows)
    : settings_(settings),
      review_(review),
      benchmarks_(benchmarks),
      rows_(std::move(rows)),
      pool_(
          settings.threads, [this](corpus::Row row) { return look(std::move(row)); },
          [this](const corpus::Row& row) { take(row); }) {}

void RowSink::add(corpus::Row row) {
  if (!outcome_) return;
  if (row.id.empty()) row.id = corpus::row_key(row.prompt, row.completion);
  units_.insert(row.unit);
  if (!ids_.insert(row.id).second) {
    ++exact_;
    return;
  }
  if (review_.decision(row.id) == Decision::drop) {
    ++reviewed_["drop"];
    // A dropped row stays in the list of flagged rows, with its leaks.
    flagged_.push_back({row.id, row.kind, row.source.origin.name + "/" + row.source.path, row.leakage});
    return;
  }
  pool_.push(std::move(row));
}

corpus::Row RowSink::look(corpus::Row row) const {
  for (corpus::Leak& leak : row_leaks(row.prompt, row.completion, benchmarks_, settings_.leak))
    row.leakage.push_back(std::move(leak));
  sort_leaks(row.leakage);
  return row;
}

void RowSink::take(const corpus::Row& row) {
  bool kept = review_.decision(row.id) == Decision::keep;
  if (kept) ++reviewed_["keep"];
  if (!row.leakage.empty())
    flagged_.push_back({row.id, row.kind, row.source.origin.name + "/" + row.source.path, row.leakage});
  if (settings_.hold_flagged && !kept && std::ranges::any_of(row.leakage, of_benchmark)) {
    ++held_;
    return;
  }
  bytes_ += row.prompt.size() + row.completion.size();
  if (auto written = rows_.write(corpus::to_json(row)); !written && outcome_) outcome_ = written;
}

Result<> RowSink::finish() {
  pool_.finish();
  if (!outcome_) return outcome_;
  return rows_.finish();
}

}  // namespace kw::dataset
