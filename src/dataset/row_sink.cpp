#include "dataset/row_sink.h"

#include <algorithm>

#include "corpus/json.h"
#include "corpus/normalise.h"
#include "dataset/row_leaks.h"

namespace kw::dataset {
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
  if (!ids_.insert(row.id).second) {
    ++exact_;
    return;
  }
  if (review_.decision(row.id) == Decision::drop) {
    ++reviewed_["drop"];
    // What was decided about stays in the list of decisions, with what it was decided for.
    flagged_.push_back({row.id, row.kind, row.source.origin.name + "/" + row.source.path, row.leakage});
    return;
  }
  pool_.push(std::move(row));
}

corpus::Row RowSink::look(corpus::Row row) const {
  for (corpus::Leak& leak : row_leaks(row.prompt, row.completion, benchmarks_, settings_.leak))
    row.leakage.push_back(std::move(leak));
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
