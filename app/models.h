// `kernelwright models`: servers of models that we know how to start.
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

// 0, or 1 with an error said.
int models(const ModelsOptions& options);

}  // namespace kw::app
