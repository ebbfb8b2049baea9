#include "results/result_row.h"

#include <fmt/format.h>

namespace kw {
ResultRow result_row(const Verdict& v, const std::optional<RecordedResult>& recorded, Trust min_trust) {
  ResultRow row;
  row.id = v.id;
  row.status = v.status;
  row.fault = v.fault;
  if (v.error_class) row.error_class = to_string(*v.error_class);
  row.counts = v.counts;
  if (v.counts_reason) row.counts_reason = to_string(*v.counts_reason);
  row.speedup = speedup_trusted(v, min_trust);
  row.reduced = v.shapes == Shapes::reduced;
  for (const auto& [stage, ms] : v.stages_ms) row.seconds += ms / 1000;
  if (recorded) row.recorded = recorded->correctness;
  return row;
}

std::string in_words(const ResultRow& row) {
  std::string words(to_string(row.status));
  if (row.status == Status::correct && row.counts == false)
    return words + fmt::format(", does not count ({})", row.counts_reason);
  if (!row.error_class.empty()) words += fmt::format(" ({})", row.error_class);
  return words;
}

}  // namespace kw
