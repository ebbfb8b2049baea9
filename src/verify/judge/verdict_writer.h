// Owns the verdict of one attempt and alone writes it, from the values that the parts return.
#pragma once

#include <string_view>

#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/judge/evidence_writer.h"
#include "verify/judge/provenance.h"

namespace kw::verify {

class VerdictWriter {
 public:
  VerdictWriter(const Job& job, const Settings& settings, const Environment& environment);

  // The stage times that the parts add to.
  StageTimes& stage_times() { return verdict_.stages_ms; }

  // Sets the trust that holds until replays prove more.
  void begin(Trust trust);
  void end(const Ended& ended);
  // Takes a newly prepared task and discards earlier comparisons.
  void take_task(const wire::PreparedT& task);
  void take(const Evidence& seen);
  // Trust in replays: `facts` is of the first recording.
  void take_replays(const wire::ReplayableT& facts, std::size_t recordings);
  // `moved_bytes` is the least number of bytes that a call reads and writes.
  void take(const Times& times, std::uint64_t moved_bytes);
  void take(const Provenance& found);
  void take(Generality found) { verdict_.generality = std::move(found); }
  // The result under other weights follows: the errors so far are those of another call.
  void forget_errors();
  void take_shapes(std::vector<FamilyTrial> trials);
  void take_sanitized(std::vector<SanitizerCheck> checks) { verdict_.sanitized = std::move(checks); }
  // From an audit that finds no fault, the verdict takes only the number of trials and the claimed speed-up.
  void take_audit(const Evidence& seen);
  void take_isolation(std::uint32_t layers);
  // Keeps the end of the output of the candidate's process as plain text.
  void take_printed(std::string_view output);

  // Finishes a right verdict; the candidate's kernels decide whether it counts.
  struct Kernels {
    bool are_there = false;   // of its own
    bool are_triton = false;  // some of them
    bool are_decoys = false;
    bool wrap_reference = false;
  };
  void finish_right(const wire::PreparedT& task, Kernels kernels);
  // Turns a wrong result at reduced shapes into `skipped`, since it proves nothing.
  void forgive_at_reduced_shapes();
  // The fault of an infrastructure that breaks with this task alone is the task's.
  void blame_the_task();
  // Adds the evidence record if the settings keep it for this verdict, and a task was prepared.
  void finish_evidence(const wire::CallSpecT& spec);

  Verdict& verdict() { return verdict_; }
  const Verdict& verdict() const { return verdict_; }
  // How neighbours may have caused what ended the attempt or its replays; empty: they have not.
  const std::string& doubt() const { return doubt_; }

 private:
  void take(const Judgement& judgement);
  void add_finding(std::string finding) { verdict_.comparison->findings.push_back(std::move(finding)); }
  void take_times(std::uint64_t moved_bytes);
  void take_segments(const Times& times);
  std::optional<CountsReason> why_it_does_not_count(const wire::PreparedT& task, Kernels kernels);

  std::string tolerance_;
  std::string keeps_evidence_;  // --evidence
  std::string require_;         // --require
  Verdict verdict_;
  std::string doubt_;
  std::size_t right_trials_ = 0;
  std::size_t rounded_trials_ = 0;  // of them, those whose error is that of rounded operands
  EvidenceWriter evidence_;
};

}  // namespace kw::verify
