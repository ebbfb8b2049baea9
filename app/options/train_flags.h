// Flags of `train` and `train merge`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/tracker_flags.h"
#include "types/options.h"

namespace kw {

struct TrainMergeFlags {
  std::string adapter;
  std::string model;
  std::string output;
  DeviceKind device = DeviceKind::cpu;
  std::string python;
  bool quiet = false;

  void add(CLI::App& app);
};

struct TrainFlags {
  std::string model;
  std::vector<std::string> data;
  std::vector<std::string> validation;  // files, or the word "split"
  std::string output;
  std::string recipe = "default";  // the name of a preset, or a file
  std::vector<std::string> set;    // "key=value"
  std::string engine = "trl";
  DeviceKind device = DeviceKind::auto_;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> max_steps;
  std::optional<std::string> push_to_hub;
  std::string python;
  TrackerFlags trackers;
  bool resume = false;
  bool fresh = false;
  bool dry_run = false;
  bool force = false;
  bool install_packages = false;
  bool json = false;
  bool quiet = false;
  TrainMergeFlags merge;

  // The flags of `train`, and its verb `merge`.
  void add(CLI::App& app);
};

}  // namespace kw
