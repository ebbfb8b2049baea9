// The checks of --sanitize, of a candidate that was judged right. A check that cannot run proves nothing:
// `not_run`, with its reason, and the status stays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "types/sanitized.h"
#include "verify/judge/context.h"
#include "verify/judge/live_calls.h"

namespace kw::verify {

// The class of what a check finds: a race of racecheck, out_of_bounds of the others.
ErrorClass class_of(Sanitizer check);
// A finding ends the attempt: `failed`, or, of a race, `incorrect`. The error names kernel and tensor.
Blame blame_sanitized(Sanitizer check, const SanitizerFinding& finding);

class Sanitizers {
 public:
  Sanitizers(Case of, OracleSide& oracle, LiveCalls& calls, wire::Weights weights)
      : case_(of), oracle_(oracle), calls_(calls), weights_(weights) {}

  struct Found {
    std::vector<SanitizerCheck> checks = {};  // in the order of the enumeration, up to the first finding
    std::optional<Ended> ended = {};          // a finding, or a stop
  };
  // Ends the process of earlier calls, and those of its own.
  async::Task<Found> run();

 private:
  using Checked = Outcome<SanitizerCheck>;
  async::Task<Checked> check(Sanitizer which);
  async::Task<Checked> check_bounds();
  async::Task<Checked> check_by_tool(Sanitizer tool);

  Case case_;
  [[maybe_unused]] OracleSide& oracle_;
  LiveCalls& calls_;
  [[maybe_unused]] wire::Weights weights_;
};

}  // namespace kw::verify
