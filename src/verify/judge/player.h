// One replayer with the recordings of a candidate or of a reference, on one arena of one oracle; and the
// places of a replayed call's outputs in that arena.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/core/result.h"
#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/messages/message.h"
#include "verify/workers/candidate_workers.h"
#include "verify/workers/oracle.h"

namespace kw::verify {

// The same outputs in two forms: by place for the oracle, by device address for the replayer.
struct OutputPlaces {
  wire::ValueT outputs;
  std::vector<wire::OutputSpan> spans;
};

// `outputs` is a runner's description, with device addresses as offsets and the bytes that are reached. The
// error states why they cannot be passed on: an output on the host, or more bytes than the arena has room
// for.
Result<OutputPlaces> place_outputs(wire::ValueT outputs, const wire::CallSpecT& spec);

// A recording with all that its replay needs, which several replayers may share.
struct Tape {
  engine::Recorded recorded;
  OutputPlaces places;
};

// The failure of a replay, and the process that failed.
struct ReplayFailure {
  enum class Of { oracle, replayer };
  Of of = Of::replayer;
  engine::WorkerFailure refusal;
  wire::DrawnT drawn = {};  // of the replay that failed, if it had drawn inputs of a family
};
// The reason of a replayer's failure as text; a failure of the oracle ends the attempt.
Outcome<std::string> words_of(const ReplayFailure& trouble);
// The class of a failure that may be the kernel's, if its replays were right before; none: it is not.
std::optional<ErrorClass> class_of_break(const ReplayFailure& trouble);

// Hardware queues of a replayer's context. With one queue, streams may wait for one another, but the context
// is made much sooner.
enum class Queues { one, many };

class Player {
 public:
  Player(Context& context, engine::Oracle& oracle, const wire::CallSpecT& spec, std::uint32_t slot,
         async::Stop& stop)
      : context_(context), oracle_(oracle), spec_(spec), slot_(slot), stop_(stop) {}
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Takes a replayer process and loads no recording.
  async::Task<Result<>> start(Queues queues = Queues::one);
  // The same under a tool, which slows everything down: `limit` is that of each request from then on.
  async::Task<Result<>> start_under(const engine::Tool& tool, std::chrono::milliseconds limit);
  // Loads one more recording. ReplayFailure whose refusal is of class unsupported_candidate: it cannot be
  // replayed.
  async::Task<std::expected<void, ReplayFailure>> add(std::shared_ptr<const Tape> tape);

  // Draws fresh inputs, or those of an earlier seed, and replays recording `how.slot` once. `how` holds
  // everything but the inputs.
  struct Played {
    wire::ReplayedT facts;
    std::uint64_t seed = 0;
    std::uint64_t poison_seed = 0;
    std::string family = {};
    wire::DrawnT drawn = {};  // where it says `dropped`, nothing was replayed
    std::uint32_t tape = 0;
    bool compared = false;  // judging it gives a digest of the outputs, too
    double wall_ms = 0;     // of the replay alone, by the supervisor's clock
  };
  async::Task<std::expected<Played, ReplayFailure>> play(wire::ReplayT how);
  // The same on these inputs.
  struct Inputs {
    std::uint64_t seed = 0;
    std::uint64_t poison_seed = 0;  // decides all other memory
    std::string family = {};        // as OracleSide::draw() has it
    bool reuse = false;             // of the family: drawn for an earlier candidate, if there are such
  };
  Inputs fresh_inputs() const;
  async::Task<std::expected<Played, ReplayFailure>> play_on(wire::ReplayT how, Inputs inputs);
  // The same, with this time for the replay in place of `--timeout`.
  async::Task<std::expected<Played, ReplayFailure>> play_on(wire::ReplayT how, Inputs inputs,
                                                            std::chrono::milliseconds limit);

  // Judges the outputs of the last play.
  async::Task<std::expected<wire::JudgedT, ReplayFailure>> judge(const Played& played,
                                                                 bool outputs_only = false);
  // Judges zeros in place of these outputs.
  async::Task<std::expected<wire::JudgedT, ReplayFailure>> judge_zeros(const Played& played);

  // Ends the process, which frees its device memory. resume() loads the recordings in another one, or says
  // why it cannot.
  async::Task<> end();
  async::Task<std::expected<void, std::string>> resume();
  // Of one under a tool: ends it, and returns the tool's report, or why there is none.
  async::Task<std::expected<std::string, std::string>> conclude(std::chrono::milliseconds limit);

  // Whose fault the failure of a replay is that was right before. It is the kernel's if its launches failed
  // or did not end, and a new process draws inputs and loads the recording afterwards: then the device works.
  // Else it is the infrastructure's. Ends this player.
  async::Task<Ended> broken_while_timed(ReplayFailure trouble);

  std::size_t tapes() const { return tapes_.size(); }
  Queues queues() const { return queues_; }
  // Whether a faithful replay of the loaded recordings needs more queues than the context has.
  bool lacks_queues() const;
  const wire::ReplayableT& facts(std::size_t tape) const { return facts_[tape]; }

 private:
  async::Task<std::expected<engine::DrawnInputs, ReplayFailure>> draw(Inputs inputs, bool mapped);
  async::Task<std::expected<wire::JudgedT, ReplayFailure>> judged(wire::JudgeT request);

  Context& context_;
  engine::Oracle& oracle_;
  wire::CallSpecT spec_;
  std::uint32_t slot_;
  async::Stop& stop_;
  std::unique_ptr<engine::Replayer> replayer_;
  Queues queues_ = Queues::one;
  std::vector<std::shared_ptr<const Tape>> tapes_;
  std::vector<wire::ReplayableT> facts_;
  std::chrono::milliseconds load_limit_ = replay_load_limit;
};

// A reference's player stays with the oracle whose arena it maps, for the next candidate on the same task.
struct KeptReference {
  std::string key;  // task_key
  std::shared_ptr<Player> player;
  std::shared_ptr<std::vector<double>> launch_ms;  // empty until its launches are timed
};

}  // namespace kw::verify
