// Where traces go, and what is said on the way.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

namespace kw {

struct RunOutputFlags {
  std::string output = "reasoning_traces.json";
  std::uint64_t save_interval = 10;
  bool fresh = false;
  bool json = false;
  bool dry_run = false;
  bool quiet = false;
  bool verbose = false;
  bool summary = true;  // false: another verb has the last word; no flag

  void add(CLI::App& app);

  // "traces.json" → "traces.run".
  std::filesystem::path run_folder() const;
};

}  // namespace kw
