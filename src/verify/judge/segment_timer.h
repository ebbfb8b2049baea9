// Times of the forward and the backward pass of a replayed call and of its reference. They are samples of
// their own, taken after those of the whole call: an event between the passes would change what is rewarded.
#pragma once

#include <string>

#include "verify/judge/context.h"
#include "verify/judge/replays.h"

namespace kw::verify {

class SegmentTimer {
 public:
  // A reference whose replays fail is dropped.
  SegmentTimer(Case of, DeviceShare& device, CandidateReplays& own, ReferenceReplays::Found& reference)
      : case_(of), device_(device), own_(own), reference_(reference) {}

  // Adds the samples to `times`, or the reason why there are none, and the judgements of these replays.
  async::Task<Outcome<>> sample(Times& times);

 private:
  std::string why_not() const;
  async::Task<Outcome<bool>> sample_once(Times& times, SegmentSamples& samples);
  bool are_settled(const SegmentSamples& samples) const;

  Case case_;
  DeviceShare& device_;
  CandidateReplays& own_;
  ReferenceReplays::Found& reference_;
};

}  // namespace kw::verify
