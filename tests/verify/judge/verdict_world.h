// A machine with one fake GPU: the whole engine without its processes.
#pragma once

#include <memory>
#include <string>

#include "base/async/wait.h"
#include "fake_engine.h"
#include "types/job.h"
#include "verify/judge/attempt.h"
#include "verify/judge/censuses.h"
#include "verify/judge/context.h"
#include "verify/judge/replays.h"
#include "verify/judge/statistics.h"

namespace kw::test {

// The key of a kernel in the census.
inline constexpr std::uint64_t library_code = 7;

// How a candidate is judged: with a GPU by replay or in-process, or without one.
enum class Path { cpu, replay, in_process };

struct VerdictWorld {
  explicit VerdictWorld(verify::Device device = verify::Device::cuda);
  // Ends all, and checks that nothing is left: no worker, no waiting coroutine.
  ~VerdictWorld();

  // One try at one verdict. Pools, tapes and servers stay for the next.
  Verdict run();
  // The parts that run() starts by itself, for tests that remove some of them first.
  void start_servers();
  void end_idle_oracles();

  // "oracle 0 Prepare, oracle 0 Draw, runner 0 Load": the messages since the last run began, without those to
  // brokers, which run concurrently. Equal neighbours are merged with a number: "oracle 0 Draw x2".
  std::string exchange() const;
  // Whether a finding of the verdict contains this.
  static bool finds(const Verdict& verdict, std::string_view words);
  // Why its candidate was judged in-process instead of by replays; empty: it was not.
  static std::string why_no_replay(const Verdict& verdict);

  async::Loop loop;
  async::Stop stop{loop};
  async::Stop job_stop{loop, stop};
  verify::Settings settings;
  Job job;
  FakeEngine fake{loop};
  verify::Servers servers;
  SecretSeeds seeds{"another secret"};  // the exchanges in the tests are those of its seeds
  engine::OraclePool oracles;
  engine::SpareWorkers runners{loop, servers.cuda, {.limits = {}}};
  engine::SpareWorkers plain_runners{loop, servers.cuda, {.limits = {}, .environment = {"KIND=plain"}}};
  engine::SpareWorkers replayers{loop, servers.replayer, {.role = engine::Role::replayer, .limits = {}}};
  engine::SpareWorkers wide_replayers{
      loop, servers.replayer, {.role = engine::Role::replayer, .limits = {}, .environment = {"KIND=wide"}}};
  engine::DeviceLeases leases{loop, 4};
  engine::DeviceLeases timing_turns{loop, 1};
  verify::ReferenceTapes tapes;
  verify::ClockFloor clock_floor;
  verify::ClockFloor wait_floor;
  verify::ClockFloor marks_floor;
  verify::Censuses censuses{loop, "/no/maker"};  // of the fake GPU there is one, with library_code alone
  verify::Context context;
  verify::Tries::Earlier earlier;
  verify::Tries::Result result;  // of the last run
  bool stopped = false;          // whether the last run was stopped
};

}  // namespace kw::test
