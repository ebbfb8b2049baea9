// The checks of NVIDIA's compute-sanitizer, of a candidate's recordings. The tool runs a replayer and not the
// candidate's own process: its host code can neither hide a finding nor change one.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/judge/oracle_side.h"
#include "verify/judge/player.h"
#include "verify/judge/tool_report.h"

namespace kw::verify {

// Names of kernels that are a library's alone: what a tool finds in them is not the candidate's fault.
std::set<std::string> kernels_of_libraries(const std::vector<EvidenceLaunch>& launches);

class ToolCheck {
 public:
  struct Recordings {
    std::vector<std::shared_ptr<const Tape>> tapes = {};
    std::set<std::string> libraries = {};  // kernels_of_libraries
    std::string why_none = {};             // why the candidate's calls are not replayed; empty: they are
  };
  ToolCheck(Case of, const OracleSide& oracle, const Recordings& recordings)
      : case_(of), oracle_(oracle), recordings_(recordings) {}

  // One untimed replay of each recording under the tool. Without findings and without a reason why it proves
  // nothing, the recordings are clean.
  async::Task<Outcome<ToolReport>> run(ReportOf tool);

 private:
  async::Task<Outcome<std::string>> replay_all(Player& player) const;
  async::Task<Outcome<ToolReport>> read(ReportOf tool, Player& player, Outcome<std::string> why_not) const;
  std::chrono::milliseconds limit() const;

  Case case_;
  const OracleSide& oracle_;
  const Recordings& recordings_;
};

}  // namespace kw::verify
