// The recordings and replays of one candidate, and those of its reference, which the same instrument times.
// A reference that cannot be replayed is no fault: it is timed in the oracle instead.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/judge/blame.h"
#include "verify/judge/oracle_side.h"
#include "verify/judge/player.h"
#include "verify/judge/varied_inputs.h"

namespace kw::verify {

// The recordings of references: made once per task, replayed for each of its candidates.
class ReferenceTapes {
 public:
  struct Entry {
    std::shared_ptr<const Tape> tape;  // null: it cannot be recorded or replayed
    std::string why_not;               // the reason if `tape` is null
  };

  // The entry of this key, which becomes the last used; null: none.
  const Entry* find(const std::string& key);
  void put(const std::string& key, Entry entry);

 private:
  void make_room();

  static constexpr std::size_t most_kept = 1024;
  // Limits the state of references on the device, which is counted in pages.
  static constexpr std::uint64_t most_state_bytes = std::uint64_t{2} << 30;
  std::list<std::pair<std::string, Entry>> entries_;  // the last used is first
};

// The reference's replays. A reference is recorded in a separate process, as a candidate is, so that the same
// instrument gives both times. Failures here are not the candidate's fault and do not end a verdict: a
// reference that cannot be replayed is timed in the oracle instead.
class ReferenceReplays {
 public:
  ReferenceReplays(Case of, const OracleSide& oracle) : case_(of), oracle_(oracle) {}

  struct Found {
    std::shared_ptr<Player> player = nullptr;  // null: it cannot be replayed
    std::string why_not = {};                  // the reason if `player` is null
    // SHA-256 of the machine code that it launches: PyTorch's and its libraries'.
    std::set<std::string> cubins = {};
    // The time of each launch of the player's recording, kept with the player: empty until they are timed.
    std::shared_ptr<std::vector<double>> launch_ms = {};
  };
  // The reference without torch.compile. Its player stays with the oracle for the next candidate.
  async::Task<Found> eager();
  // Under torch.compile. The caller ends its player.
  async::Task<Found> compiled();

 private:
  async::Task<ReferenceTapes::Entry> record(bool compiled);
  async::Task<std::expected<engine::Recorded, std::string>> recorded_by(engine::Runner& runner,
                                                                        bool compiled);
  async::Task<std::expected<Fd, engine::WorkerFailure>> drawn();
  async::Task<std::expected<std::shared_ptr<Player>, std::string>> player_of(
      std::shared_ptr<const Tape> tape);
  async::Task<std::string> checked(Player& player, std::shared_ptr<const Tape> tape);

  Case case_;
  const OracleSide& oracle_;
};

// The recordings of one candidate, and the replayers that run them.
class CandidateReplays {
 public:
  CandidateReplays(Case of, const OracleSide& oracle) : case_(of), oracle_(oracle) {}

  void add(std::shared_ptr<const Tape> tape) { tapes_.push_back(std::move(tape)); }
  void forget() { tapes_.clear(); }
  const std::vector<std::shared_ptr<const Tape>>& tapes() const { return tapes_; }

  // Starts a replayer with all recordings. Returns why they cannot be replayed, or an empty text.
  async::Task<Outcome<std::string>> load();
  // Runs that many replays, each on its own inputs, and each recording at least once, in the orders that the
  // recording leaves open. `seen` holds the evidence of the `calls` before. Returns why the replays prove
  // nothing; empty: all are right.
  async::Task<Outcome<std::string>> judge(std::uint32_t trials, std::size_t calls, Evidence& seen);
  // One replay on inputs of a family.
  async::Task<Outcome<FamilyAnswer>> family(FamilyQuestion asked);
  // Another player for the same recordings, which is not started yet.
  Player& add_process();
  async::Task<> end();

  std::size_t processes() const { return processes_.size(); }
  // Whether the judged player has all recordings: it may have lost them on a family of inputs.
  bool is_loaded() const { return !processes_.empty() && player().tapes() == tapes_.size(); }
  Player& player(std::size_t process = 0) const { return *processes_[process]; }

 private:
  async::Task<Outcome<std::string>> load_with(Queues queues);
  async::Task<Outcome<FamilyAnswer>> broken_on_family(ReplayFailure trouble);
  async::Task<Outcome<std::string>> judge_one(std::size_t k, std::size_t trials, Evidence& seen);

  // A judged replay that can be repeated.
  struct Repeatable {
    wire::ReplayT how;
    std::uint64_t seed = 0;
    std::uint64_t poison_seed = 0;
    wire::JudgedT judged;
  };
  // Repeats the last judged replay with other bytes in all memory that the kernels have not written and that
  // belongs to no input, weight or state: the result must be the same.
  async::Task<Outcome<std::string>> check_own_memory(Evidence& seen);
  async::Task<std::expected<Repeatable, ReplayFailure>> repeated(std::uint64_t poison_seed);
  // Whether replays with these two kinds of bytes each give their own result again and again.
  async::Task<std::expected<bool, ReplayFailure>> are_reproducible(const Repeatable& other,
                                                                   std::size_t& replays);

  Case case_;
  const OracleSide& oracle_;
  std::vector<std::shared_ptr<const Tape>> tapes_;
  std::vector<std::unique_ptr<Player>> processes_;  // the first one is judged
  Repeatable last_;
  std::uint32_t next_family_ = 0;
  double longest_ms_ = 0;  // of the judged replays on the task's own inputs
};

}  // namespace kw::verify
