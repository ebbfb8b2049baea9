// `kernelwright serve`: verdicts over HTTP.
#pragma once

#include <CLI/CLI.hpp>

#include "flags/correctness_flags.h"
#include "flags/engine_flags.h"
#include "flags/serve_flags.h"
#include "flags/timing_flags.h"

namespace kw::app {

struct ServeOptions {
  ServeFlags serve;
  EngineFlags engine;
  CorrectnessFlags correctness;
  TimingFlags timing;

  void add(CLI::App& app);
};

// Serves until it is told to end. The exit status: 0 where it ended in order.
int serve(const ServeOptions& options);

}  // namespace kw::app
