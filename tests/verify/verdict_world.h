// A machine with one GPU that is none: everything of the engine but the processes.
#pragma once

#include <memory>
#include <string>

#include "async/stop.h"
#include "fake_engine.h"
#include "schema/job.h"
#include "verify/attempt.h"
#include "verify/clock_floor.h"
#include "verify/context.h"
#include "verify/reference_tapes.h"

namespace kw::test {

struct VerdictWorld {
  explicit VerdictWorld(verify::Device device = verify::Device::cuda);
  // Ends all, and looks that nothing is left: no worker, no coroutine that waits.
  ~VerdictWorld();

  // One try at one verdict. Pools, tapes and servers stay for the next.
  Verdict run();
  // What run() starts by itself, for tests that take parts of the world away first.
  void start_servers();
  void end_idle_oracles();

  // "oracle 0 Prepare, oracle 0 Draw, runner 0 Load": the messages since the last run began, without those of
  // brokers, which are asked while others are. Equal neighbours are one with a number: "oracle 0 Draw x2".
  std::string exchange() const;
  // Whether a finding of the verdict has this in it.
  static bool finds(const Verdict& verdict, std::string_view words);

  async::Loop loop;
  async::Stop stop{loop};
  async::Stop job_stop{loop, stop};
  verify::Settings settings;
  Job job;
  FakeEngine fake{loop};
  verify::Servers servers;
  SecretSeeds seeds{"a secret"};
  engine::OraclePool oracles{loop, servers.oracle, {.size = 2, .limits = {}}};
  engine::SpareWorkers runners{loop, servers.cuda, {.limits = {}}};
  engine::SpareWorkers plain_runners{loop, servers.cuda, {.limits = {}, .environment = {"KIND=plain"}}};
  engine::SpareWorkers replayers{loop, servers.replayer, {.role = engine::Role::replayer, .limits = {}}};
  engine::SpareWorkers wide_replayers{
      loop, servers.replayer, {.role = engine::Role::replayer, .limits = {}, .environment = {"KIND=wide"}}};
  engine::LeaseDesk desk{loop, 4};
  engine::LeaseDesk timing_turns{loop, 1};
  verify::ReferenceTapes tapes;
  verify::ClockFloor clock_floor;
  verify::Context context;
  bool stopped = false;  // the last run's
};

}  // namespace kw::test
