#include "results/result_row.h"

#include "explain/words.h"

namespace kw {

ResultRow result_row(const Verdict& v, const std::optional<RecordedResult>& recorded, Trust min_trust) {
  ResultRow row;
  row.id = v.id;
  row.status = v.status;
  row.fault = v.fault;
  row.counts = v.counts;
  if (v.error_class) row.why = to_string(*v.error_class);
  if (v.counts_reason) row.why = to_string(*v.counts_reason);
  row.speedup = speedup_trusted(v, min_trust);
  row.reduced = v.shapes == Shapes::reduced;
  for (const auto& [stage, ms] : v.stages_ms) row.seconds += ms / 1000;
  if (recorded) row.recorded = recorded->correctness;
  return row;
}

std::string in_words(const ResultRow& row) {
  return explain::in_short(row.status, row.counts, row.why);
}

}  // namespace kw
