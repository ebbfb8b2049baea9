// What all verifications on one device share.
#pragma once

#include <string>

#include "async/stop.h"
#include "base/hash.h"
#include "engine/lease.h"
#include "engine/oracle_pool.h"
#include "engine/spare_runners.h"
#include "schema/verdict.h"
#include "verify/settings.h"

namespace kw::verify {

// The fork servers of this machine; those that a device does not need are null.
struct Servers {
  std::shared_ptr<engine::ForkServer> oracle;
  std::shared_ptr<engine::ForkServer> compile;
  std::shared_ptr<engine::ForkServer> interpret;
  std::shared_ptr<engine::ForkServer> cuda;
};

struct Context {
  async::Loop& loop;
  async::Stop& stop;
  const Settings& settings;
  Servers& servers;
  SecretSeeds& seeds;
  engine::OraclePool& oracles;
  engine::SpareRunners& runners;  // where there is a GPU
  engine::LeaseDesk& desk;
  engine::Limits limits;
  int device = -1;  // CUDA ordinal, or -1
  Environment environment;
};

}  // namespace kw::verify
