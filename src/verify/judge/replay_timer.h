// Samples of a replayed call and of its reference by the same instrument, taken in turns until they agree or
// there are enough. Each is taken by two clocks.
#pragma once

#include <optional>
#include <string>

#include "verify/judge/context.h"
#include "verify/judge/outside_clock.h"
#include "verify/judge/replays.h"
#include "verify/judge/statistics.h"

namespace kw::verify {

class ReplayTimer {
 public:
  // A reference whose replays fail is dropped.
  ReplayTimer(Case of, DeviceShare& device, CandidateReplays& own, ReferenceReplays::Found& reference)
      : case_(of), device_(device), own_(own), reference_(reference) {}

  // Few verdicts sample at a time. Each sample switches between processes five times, and many concurrent
  // ones would wait for each other's contexts at every step.
  async::Task<Times> sample();

 private:
  async::Task<Outcome<>> sample_all();
  async::Task<Outcome<>> sample_once();
  void learn_floors(const std::optional<wire::ReplayedT>& reference, const wire::ReplayedT& own);
  void add(SampleClocks& clocks, const wire::ReplayedT& facts, double host_ms);
  std::vector<double> take_believed(Side side, const SampleClocks& clocks);
  Outcome<> lose_reference(const ReplayFailure& trouble);
  async::Task<Outcome<>> start_beside();
  bool both_settled(std::size_t least, Precision wanted) const;
  bool is_enough(bool beside_neighbours) const;
  Precision tolerated(Precision times) const;
  bool makes_do_with_less() const;
  bool is_wild() const;
  bool clocks_disagree() const;
  void forget_samples();

  Case case_;
  DeviceShare& device_;
  CandidateReplays& own_;
  ReferenceReplays::Found& reference_;
  SampleClocks kernel_;
  SampleClocks theirs_;  // the reference's
  double wait_floor_ms_ = 0;
  std::optional<double> marks_floor_ms_;
  Times times_;
};

// A replay that is timed as a whole, behind a gate and with the inputs in memory.
wire::ReplayT timed_replay();
// One replay of a candidate and its judgement, which `seen` gets.
async::Task<Outcome<wire::ReplayedT>> played_right(Player& player, wire::ReplayT how, Evidence& seen);

// A replay's time by the floor of all processes on the device instead of its own.
double sample_ms(const wire::ReplayedT& facts, std::optional<double> floor_ms);

// Of a reference under torch.compile.
struct CompiledTime {
  double ms = 0;
  std::string why_not;  // the reason if there is no time; else empty
};
async::Task<CompiledTime> sample_compiled(Player& player, std::optional<double> floor_ms);

}  // namespace kw::verify
