// What a device grants a replayer, as `kernelwright doctor` shows it.
#pragma once

#include <string>

#include "driver.h"

namespace kw::replayer {

struct Probe {
  std::string json;     // one line: what was found
  std::string missing;  // empty where everything is there
};

Probe probe(const driver::Driver& driver, int ordinal);

}  // namespace kw::replayer
