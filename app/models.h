// `kernelwright models`: launch commands and scripts of known model servers.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kw::app {

struct ModelsOptions {
  enum class Action { list, show, script };
  Action action = Action::list;
  std::string name;
  std::string output;  // of script; empty: standard output
};

void add_models(CLI::App& app, ModelsOptions& options);

// Returns 0, or prints an error and returns 1.
int models(const ModelsOptions& options);

}  // namespace kw::app
