// `kernelwright serve`: verdicts over HTTP.
#pragma once

#include <CLI/CLI.hpp>

#include "flags/serve_flags.h"
#include "schema/settings.h"

namespace kw::app {

struct ServeOptions {
  ServeFlags serve;
  Settings settings;

  void add(CLI::App& app);
};

// Serves until it is told to end. The exit status: 0 where it ended in order.
int serve(const ServeOptions& options);

}  // namespace kw::app
