// Fork servers and workers that are coroutines of the test. They answer as an oracle, a runner, a replayer
// and a broker do for a right candidate, except where a rule changes the answer. All else is the engine's own
// code: sockets, descriptors, deadlines, killed processes, pools.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process/pipes.h"
#include "verify/messages/message.h"
#include "verify/workers/fork_server.h"

namespace kw::test {

inline constexpr unsigned fake_capability = 90;

enum class Ending { answers, hangs, closes, dies, garbles };

struct Reaction {
  wire::BodyUnion answer;
  std::vector<Fd> fds;
  Ending ending = Ending::answers;
  int wait_status = 0;  // of a worker that dies
  bool in_launch = false;
  std::string prints{};  // to the worker's output, before it answers
  std::string packet{};  // sent in place of the encoded answer
  std::chrono::milliseconds delay{0};
};

// Changes the usual answer.
using React = std::function<void(const wire::BodyUnion& asked, Reaction& usual)>;

template <typename Answer>
React says(std::function<void(Answer&)> change) {
  return [change](const wire::BodyUnion&, Reaction& usual) {
    if (usual.answer.type == wire::BodyUnionTraits<Answer>::enum_value)
      change(*static_cast<Answer*>(usual.answer.value));
  };
}
// A change of each replay's result.
React replays(std::function<void(const wire::ReplayT& how, wire::ReplayedT& facts)> change);
// The durations of all replays, those of the reference included, by both clocks.
React each_takes(double ms);
React fails(std::string stage, std::string error_class, std::string error);
React ends(Ending ending);
React dies(int signal, bool in_launch = false);
React waits(std::chrono::milliseconds delay);
React prints(std::string text);
React judges_wrong();
React all(std::vector<React> reactions);

class FakeEngine {
 public:
  explicit FakeEngine(async::Loop& loop) : loop_(loop) {}
  ~FakeEngine();
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  async::Task<std::shared_ptr<engine::ForkServer>> start(engine::ServerMode mode, async::Stop& stop);
  void kill(engine::ServerMode mode);

  // The reaction of workers of this role to the nth such message, from 0; to all of them where nth is -1.
  // `role` is as in `asked`, and "memcheck" or "racecheck" of a replayer under that tool; Body::Spawn stands
  // for the start of a worker of it.
  void when(std::string role, wire::Body message, React react, int nth = -1);

  // "runner 0 Load", in the order in which the workers received the messages.
  const std::vector<std::string>& asked() const { return asked_; }
  void forget_asked() { asked_.clear(); }
  // The number of such messages to workers of this role.
  int count(const std::string& role, wire::Body message) const;
  // Workers that have not ended.
  int living() const { return living_; }

  wire::CallSpecT spec;          // of what the oracle prepares
  bool zeros_are_right = false;  // on all inputs, in place of outputs
  // The reports of compute-sanitizer.
  std::string memcheck_text = "========= ERROR SUMMARY: 0 errors\n";
  std::string racecheck_text = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";

 private:
  struct Server;
  struct Worker;
  struct Rule {
    std::string role;
    wire::Body message = wire::Body::NONE;
    int nth = -1;
    React react;
  };

  async::Task<> spawn_workers(std::shared_ptr<Server> server);
  async::Task<> serve(std::shared_ptr<Worker> worker);
  async::Task<bool> react(Worker& worker, Reaction reaction);
  Reaction reaction_to(const std::string& role, const std::string& name, const wire::BodyUnion& asked,
                       Reaction usual);
  Reaction usual(Worker& worker, const wire::BodyUnion& asked, std::vector<Fd>& fds);

  async::Loop& loop_;
  std::vector<Rule> rules_;
  std::vector<std::string> asked_;
  std::map<std::pair<std::string, wire::Body>, int> counts_;
  std::map<std::string, int> numbers_;
  std::map<engine::ServerMode, std::shared_ptr<Server>> servers_;
  bool launches_skipped_ = false;  // by the last call or replay: it wrote no outputs
  int living_ = 0;
};

}  // namespace kw::test
