#include "results/result_row.h"

#include <fmt/format.h>

namespace kw {
namespace {

// replay over in-process over interpreter, which measures nothing.
int rank(Trust trust) {
  switch (trust) {
    case Trust::replay:
      return 2;
    case Trust::in_process:
      return 1;
    case Trust::interpreter:
      break;
  }
  return 0;
}

}  // namespace

ResultRow result_row(const Verdict& v, const std::optional<RecordedResult>& recorded, Trust min_trust) {
  ResultRow row;
  row.id = v.id;
  row.status = v.status;
  row.fault = v.fault;
  if (v.error_class) row.error_class = to_string(*v.error_class);
  row.counts = v.counts;
  if (v.counts_reason) row.counts_reason = to_string(*v.counts_reason);
  if (v.trust && rank(*v.trust) >= rank(min_trust)) row.speedup = v.speedup;
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
