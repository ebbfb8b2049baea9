// One replayer, and what it replays on one arena of one oracle: a candidate's recordings, or a reference's.
#pragma once

#include <memory>
#include <vector>

#include "engine/oracle.h"
#include "engine/replayer.h"
#include "engine/runner.h"
#include "verify/context.h"
#include "verify/output_places.h"

namespace kw::verify {

// A recording with all that its replay needs, which several replayers may share.
struct Tape {
  engine::Recorded recorded;
  OutputPlaces places;
};

// What stood in the way, and of whom.
struct Trouble {
  enum class Of { oracle, replayer };
  Of of = Of::replayer;
  engine::Refusal refusal;
};

// Of a replayer's context: work of several streams may wait for one another in one, but a context with one is
// there much sooner.
enum class Queues { one, many };

class Player {
 public:
  Player(Context& context, engine::Oracle& oracle, const wire::CallSpecT& spec, std::uint32_t slot,
         async::Stop& stop)
      : context_(context), oracle_(oracle), spec_(spec), slot_(slot), stop_(stop) {}
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Takes a replayer; nothing of the recordings has been looked at yet.
  async::Task<Result<>> start(Queues queues = Queues::one);
  // Takes over that of another, which has none then: its first recording takes the place of all that were
  // there.
  void take_over(Player& other) {
    replayer_ = std::move(other.replayer_);
    queues_ = other.queues_;
  }

  // Loads one more recording. Trouble whose refusal is of class unsupported_candidate: it cannot be replayed.
  async::Task<std::expected<void, Trouble>> add(std::shared_ptr<const Tape> tape);

  // Fresh inputs, then one replay of recording `how.slot`. `how` says all but the inputs.
  struct Played {
    wire::ReplayedT facts;
    std::uint64_t seed = 0;
    std::uint32_t tape = 0;
    double wall_ms = 0;  // of the replay alone, by the supervisor's clock
  };
  async::Task<std::expected<Played, Trouble>> play(wire::ReplayT how);

  // What the oracle says of the outputs of the last play.
  async::Task<std::expected<wire::JudgedT, Trouble>> judge(const Played& played, bool outputs_only = false);

  async::Task<> end();

  std::size_t tapes() const { return tapes_.size(); }
  Queues queues() const { return queues_; }
  // Whether what was loaded would be replayed as it was called only with more queues than there are.
  bool lacks_queues() const;
  std::uint64_t arena_bytes() const { return spec_.arena_bytes; }
  const wire::ReplayableT& facts(std::size_t tape) const { return facts_[tape]; }
  std::uint32_t layers() const { return replayer_->layers(); }

 private:
  async::Task<std::expected<Fd, Trouble>> draw(std::uint64_t seed, bool mapped);

  Context& context_;
  engine::Oracle& oracle_;
  wire::CallSpecT spec_;
  std::uint32_t slot_;
  async::Stop& stop_;
  std::unique_ptr<engine::Replayer> replayer_;
  Queues queues_ = Queues::one;
  std::vector<std::shared_ptr<const Tape>> tapes_;
  std::vector<wire::ReplayableT> facts_;
};

// A reference's player stays with the oracle whose arena it maps, for the next candidate on the same task.
struct KeptReference {
  std::string key;  // task_key
  std::shared_ptr<Player> player;
};

}  // namespace kw::verify
