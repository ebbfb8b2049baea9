// A reference that cannot be replayed is timed by events in its oracle. Its code runs there and can falsify
// these times, so the supervisor's clock bounds them from above. They can only be too long for the author of
// a task: a slow reference makes candidates look fast.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/judge/oracle_side.h"

namespace kw::verify {

class ReferenceClock {
 public:
  ReferenceClock(Case of, OracleSide& oracle) : case_(of), oracle_(oracle) {}

  // Adds the samples of one request. Their sum exceeds the time of the request only if they are false.
  async::Task<Outcome<>> sample(wire::TimeReferenceT how, std::chrono::milliseconds at_most);
  // Compares the samples with calls in a row, up to three times. Samples that were taken beside other
  // processes on the device may be refuted for that reason alone.
  async::Task<Outcome<>> check();

  const std::vector<double>& samples_ms() const { return samples_ms_; }
  // Why the samples are false; empty: they are not refuted.
  const std::string& refutation() const { return refutation_; }
  // The samples, or the finding that refutes them.
  void give(Times& times) const;
  void forget();

 private:
  struct Compared {
    std::uint32_t calls = 0;
    double outside_ms = 0;
    double tolerated_ms = 0;
  };
  async::Task<Outcome<double>> request_ms(std::uint32_t calls);
  async::Task<Outcome<Compared>> compare_once(double claimed_ms);
  async::Task<Outcome<Compared>> compare(double claimed_ms);

  Case case_;
  OracleSide& oracle_;
  std::vector<double> samples_ms_;
  std::string refutation_;
};

// The greatest time that a call claims by events with its inputs in memory, where each of `calls` in a row
// takes `outside_ms` with them in the cache. It moves `moved_bytes`.
double tolerated_claim_ms(double outside_ms, std::uint32_t calls, std::uint64_t moved_bytes);

}  // namespace kw::verify
