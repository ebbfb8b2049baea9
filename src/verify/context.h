// What all verifications on one device share.
#pragma once

#include <string>

#include "async/stop.h"
#include "base/hash.h"
#include "engine/lease.h"
#include "engine/oracle_pool.h"
#include "engine/spare_workers.h"
#include "schema/verdict.h"
#include "verify/settings.h"

namespace kw::verify {

// The fork servers of this machine; those that a device does not need are null.
struct Servers {
  std::shared_ptr<engine::ForkServer> oracle;
  std::shared_ptr<engine::ForkServer> compile;
  std::shared_ptr<engine::ForkServer> interpret;
  std::shared_ptr<engine::ForkServer> cuda;
  std::shared_ptr<engine::ForkServer> replayer;
  std::shared_ptr<engine::ForkServer> broker;
};

class ClockFloor;
class ReferenceTapes;

struct Context {
  async::Loop& loop;
  async::Stop& stop;         // of all; a job has its own
  const Settings& settings;  // of jobs without options
  Servers& servers;
  SecretSeeds& seeds;
  engine::OraclePool& oracles;
  engine::SpareWorkers& runners;        // where there is a GPU: with the recorder, where it can be had
  engine::SpareWorkers& plain_runners;  // without it
  engine::SpareWorkers& replayers;
  engine::SpareWorkers& wide_replayers;  // for calls of several streams; none is kept ready
  engine::LeaseDesk& desk;
  engine::LeaseDesk& timing_turns;  // held within a share of the device, never for all of it
  engine::Limits limits;
  ReferenceTapes& tapes;
  ClockFloor& clock_floor;
  int device = -1;            // CUDA ordinal, or -1
  std::string why_no_replay;  // of this machine; empty where it can
  Environment environment;
};

}  // namespace kw::verify
