// The flag --report-to of `train` and `run`: where their figures go while they run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kw {

struct TrackerFlags {
  std::string tensorboard;  // a folder for event files; empty: none
  std::string trackio;      // the name of a project; empty: none

  void add(CLI::App& app, const std::string& group);
  bool any() const { return !tensorboard.empty() || !trackio.empty(); }
};

}  // namespace kw
