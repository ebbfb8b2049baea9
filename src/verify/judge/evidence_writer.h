// Builds the evidence record of one attempt from the values that its parts return.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "types/evidence.h"
#include "verify/judge/blame.h"
#include "verify/judge/provenance.h"

namespace kw::verify {

class EvidenceWriter {
 public:
  // Takes a newly prepared task and discards earlier trials.
  void take_task(const wire::PreparedT& task);
  void take(const Evidence& seen);
  void take(const std::optional<ClockCheck>& check);
  void take(const Provenance& found);
  // A mismatch of a first attempt, if a second one was right.
  void forget_mismatch() { record_.first_mismatch.reset(); }

  // The bounded record; none if no task was prepared.
  std::optional<EvidenceRecord> finished(const wire::CallSpecT& spec) &&;

 private:
  void take(const Judgement& judgement);
  void take_launches(const LaunchList& list);

  EvidenceRecord record_;
  wire::Weights weights_ = wire::Weights::automatic;  // of the process that was loaded last
  std::size_t judged_ = 0;                            // trials so far, including those left out
  bool has_task_ = false;
};

// The dtypes of the tensors among the inputs, each once, sorted.
std::vector<std::string> input_dtypes(const wire::CallSpecT& spec);

}  // namespace kw::verify
