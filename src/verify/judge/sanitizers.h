// The checks of --sanitize, of a candidate that was judged right. A check that cannot run proves nothing:
// `not_run`, with its reason, and the status stays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "types/sanitized.h"
#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/judge/edges.h"
#include "verify/judge/live_calls.h"
#include "verify/judge/oracle_side.h"
#include "verify/judge/tool_check.h"

namespace kw::verify {

// The class of what a check finds: a race of racecheck, out_of_bounds of the others.
ErrorClass class_of(Sanitizer check);
// A finding ends the attempt: `failed`, or, of a race, `incorrect`. The error names kernel and tensor.
Blame blame_sanitized(Sanitizer check, const SanitizerFinding& finding);

class Sanitizers {
 public:
  // `recordings` are those of the candidate's calls, which the tools replay.
  Sanitizers(Case of, OracleSide& oracle, LiveCalls& calls, wire::Weights weights,
             const ToolCheck::Recordings& recordings)
      : case_(of), oracle_(oracle), calls_(calls), weights_(weights), recordings_(recordings) {}

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
  static Checked unless_wrong(Ended ended);
  async::Task<Checked> find_beyond(std::vector<EdgeTensor> tensors);
  // A fault of the device in one call, in a process of its own, with these tensors at an unmapped page's
  // edge.
  using DeviceFault = std::optional<Blame>;
  async::Task<Outcome<DeviceFault>> fault_at_edge(std::vector<EdgeTensor> tensors, bool waits);
  async::Task<Checked> check_by_tool(Sanitizer tool);

  Case case_;
  OracleSide& oracle_;
  LiveCalls& calls_;
  wire::Weights weights_;
  const ToolCheck::Recordings& recordings_;
};

}  // namespace kw::verify
