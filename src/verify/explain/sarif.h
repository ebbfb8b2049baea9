// The findings of a run as a SARIF 2.1.0 log, for code scanning and other readers of static analysis.
#pragma once

#include <string>
#include <string_view>

#include "verify/explain/finding.h"

namespace kw::explain {

// GitHub refuses a log with more results, and one with more than 10 MB after compression.
inline constexpr std::size_t most_sarif_results = 25'000;

struct SarifRun {
  std::string_view program_version;
  bool is_complete = true;  // every candidate got a verdict
};

// One run: a rule for each word of a verdict, a result for each finding, errors first, at most
// most_sarif_results, and a notification for each bad row and for results that are left out. Texts of
// candidates have at most 4 MB together; later results have their own sentences alone. Paths below the
// working directory are relative to %SRCROOT%. Equal findings give equal bytes.
std::string to_sarif(const Findings& findings, const SarifRun& run);

}  // namespace kw::explain
