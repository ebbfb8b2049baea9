// `kernelwright serve`: verdicts over HTTP.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/core/result.h"
#include "options/serve_flags.h"
#include "types/options.h"

namespace kw::app {

// Reads the key from the file, else from KERNELWRIGHT_API_KEY, and removes that variable so that child
// processes do not inherit it. Empty if there is no key.
Result<std::string> read_service_key(const std::string& file);

// `kernelwright serve`: verdicts over HTTP.
struct ServeOptions {
  ServeFlags serve;
  Settings settings;

  void add(CLI::App& app);
};

// Serves until a stop is requested. The exit status is 0 after a regular shutdown.
int serve(const ServeOptions& options);

}  // namespace kw::app
