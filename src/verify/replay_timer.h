// Samples of a replayed call and of its reference by the same instrument, taken in turns until they agree or
// there are enough.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/device_share.h"
#include "verify/ended.h"
#include "verify/statistics.h"

namespace kw::verify {

// Who is timed.
struct ReplaySides {
  std::shared_ptr<Player> own;
  std::shared_ptr<Player> reference;                      // null: it cannot be replayed
  const std::vector<std::shared_ptr<const Tape>>& tapes;  // of the candidate
  std::function<std::shared_ptr<Player>()> another;       // process for these tapes
};

struct ReplaySamples {
  std::vector<double> reference_ms;
  std::vector<double> kernel_ms;
  std::optional<double> floor_ms;               // which is off each sample already
  std::vector<wire::JudgedT> judgements;        // of the candidate's replays, in their order
  std::optional<std::string> lost_reference;    // why it is not replayed any more
  std::vector<std::shared_ptr<Player>> beside;  // further processes that were timed: end them
  std::optional<Ended> ended;
};

class ReplayTimer {
 public:
  ReplayTimer(Context& context, const Settings& settings, DeviceShare& device, ReplaySides sides)
      : context_(context), settings_(settings), device_(device), sides_(std::move(sides)) {}

  // Few verdicts sample at a time. Each sample goes five times between processes, and many that do so at once
  // would wait for each other's contexts at every step.
  async::Task<ReplaySamples> sample();

 private:
  async::Task<bool> sample_all();
  async::Task<bool> sample_once();
  bool lose_reference(const Trouble& trouble);
  async::Task<bool> start_beside();
  async::Task<std::optional<wire::ReplayedT>> played_right(Player& player, wire::ReplayT how);
  bool both_settled(std::size_t least, Precision wanted) const;
  bool is_enough(bool beside_neighbours) const;
  Precision tolerated(Precision times) const;
  bool makes_do_with_less() const;
  bool is_wild() const;
  void forget_samples();
  bool end(Ended ended);

  Context& context_;
  const Settings& settings_;
  DeviceShare& device_;
  ReplaySides sides_;
  ReplaySamples samples_;
};

// What a replay took by the floor of all processes on the device instead of its own.
double sample_ms(const wire::ReplayedT& facts, std::optional<double> floor_ms);

// Of a reference under torch.compile.
struct CompiledTime {
  double ms = 0;
  std::string why_not;  // empty: it is known
};
async::Task<CompiledTime> sample_compiled(Player& player, std::optional<double> floor_ms);

// A batch by the device's events against the supervisor's clock, the time of one replay with all its
// preparation subtracted: code on the device can write where events are kept, but not what our clock reads. A
// finding where they disagree, else empty.
async::Task<std::expected<std::string, Trouble>> compare_clocks(Player& player, double single_ms);

}  // namespace kw::verify
