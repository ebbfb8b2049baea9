// The reference's side of a replay: recorded in a process of its own as a candidate is, so that both times
// come from the same instrument. Nothing here is the candidate's fault, and nothing ends a verdict: a
// reference that cannot be replayed is timed in the oracle instead.
#pragma once

#include <memory>
#include <string>

#include "schema/task.h"
#include "verify/reference_tapes.h"

namespace kw::verify {

// What the oracle made of a task.
struct PreparedReference {
  const Task& task;
  std::string key;  // task_key
  const wire::CallSpecT& spec;
  int call_spec = -1;
  bool tf32 = false;
  std::chrono::milliseconds draw_limit{0};
};

class ReferenceReplays {
 public:
  ReferenceReplays(Context& context, engine::Oracle& oracle, PreparedReference reference, async::Stop& stop)
      : context_(context), oracle_(oracle), reference_(std::move(reference)), stop_(stop) {}

  struct Found {
    std::shared_ptr<Player> player = nullptr;  // null: it cannot be replayed,
    std::string why_not = {};                  // and this is why
  };
  // The reference as it stands. Its player stays with the oracle for the next candidate.
  async::Task<Found> eager();
  // Under torch.compile. Who asks ends its player.
  async::Task<Found> compiled();

 private:
  async::Task<ReferenceTapes::Entry> record(bool compiled);
  async::Task<std::expected<engine::Recorded, std::string>> recorded_by(engine::Runner& runner,
                                                                        bool compiled);
  async::Task<std::expected<Fd, engine::Refusal>> drawn();
  async::Task<std::expected<std::shared_ptr<Player>, std::string>> player_of(std::shared_ptr<const Tape> tape,
                                                                             std::shared_ptr<Player> earlier);
  async::Task<std::string> checked(Player& player, std::shared_ptr<const Tape> tape);

  Context& context_;
  engine::Oracle& oracle_;
  PreparedReference reference_;
  async::Stop& stop_;
};

}  // namespace kw::verify
