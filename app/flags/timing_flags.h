// How speed is measured, and whose figures are believed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "schema/enums.h"

namespace kw {

struct TimingFlags {
  std::uint64_t trials = 100;
  double precision = 0.01;
  Trust min_trust = Trust::in_process;
  Trust instrument = Trust::replay;
  bool compile_baseline = false;

  void add(CLI::App& app);
};

}  // namespace kw
