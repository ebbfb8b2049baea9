// The recordings of one candidate, and the replayers that play them: loaded, judged, timed, ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "verify/oracle_side.h"
#include "verify/replay_timer.h"

namespace kw::verify {

// What replays say of the candidate.
struct ReplayJudgements {
  std::vector<wire::JudgedT> right;  // one of each replay, in their order
  std::string why_not;               // they prove nothing; empty: they do
  std::optional<Ended> ended;
};

class CandidateReplays {
 public:
  CandidateReplays(Context& context, const OracleSide& oracle, async::Stop& stop)
      : context_(context), oracle_(oracle), stop_(stop) {}

  void add(std::shared_ptr<const Tape> tape) { tapes_.push_back(std::move(tape)); }
  void forget() { tapes_.clear(); }
  const std::vector<std::shared_ptr<const Tape>>& tapes() const { return tapes_; }

  // Starts a replayer with all recordings. Why they cannot be replayed; empty: they can.
  async::Task<Outcome<std::string>> load();
  // So many replays on as many input sets, of each recording one at least, in the orders that they leave
  // open.
  async::Task<ReplayJudgements> judge(std::uint32_t trials);
  // Samples beside those of the reference, where it can be replayed.
  async::Task<ReplaySamples> sample(const Settings& settings, DeviceShare& device,
                                    std::shared_ptr<Player> reference);
  async::Task<> end();

  bool are_loaded() const { return player_ != nullptr; }
  Player& player() const { return *player_; }

 private:
  std::shared_ptr<Player> another() const;
  async::Task<Outcome<std::string>> load_with(Queues queues);
  async::Task<bool> judge_one(std::uint32_t k, ReplayJudgements& said);

  Context& context_;
  const OracleSide& oracle_;
  async::Stop& stop_;
  std::vector<std::shared_ptr<const Tape>> tapes_;
  std::shared_ptr<Player> player_;
  std::vector<std::shared_ptr<Player>> beside_;  // of the same recordings, once they were timed
};

}  // namespace kw::verify
