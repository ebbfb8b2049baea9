// Flags that several verbs have: the options of judging (types/options.def), the choice of the evaluator,
// results, traces and messages.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "options/tracker_flags.h"
#include "types/options.h"

namespace kw {

// Settings must outlive the app.
void add_settings(CLI::App& app, Settings& settings);

// Of these, the options that decide where and how a reference runs.
void add_task_settings(CLI::App& app, Settings& settings);

// Choice of the evaluator: this machine, or a service.
struct EvaluatorFlags {
  std::string where = "local";  // "local", the name of a deployment, or a URL
  double patience_s = 300;      // the wait for an unresponsive service

  // --evaluator also comes from KERNELWRIGHT_EVALUATOR.
  void add(CLI::App& app);
  bool is_remote() const { return where != "local"; }

  // Refuses options of the local engine if a service judges. `verb` is the parsed verb.
  Result<> check(const CLI::App& verb) const;
};

// Accepts "local", "modal", "ray", and URLs of http and https.
Result<std::string> parse_evaluator(const std::string& text);

// Flags of results and messages.
struct OutputFlags {
  bool json = false;
  std::string output;
  std::optional<std::uint64_t> limit;
  bool dry_run = false;
  bool fail_on_incorrect = false;
  bool fresh = false;
  bool quiet = false;
  bool verbose = false;

  void add(CLI::App& app);
};

// Flags of traces and messages.
struct RunOutputFlags {
  std::string output = "reasoning_traces.json";
  std::uint64_t save_interval = 10;
  bool fresh = false;
  bool json = false;
  bool dry_run = false;
  bool quiet = false;
  bool verbose = false;
  TrackerFlags trackers;
  bool summary = true;  // false: another verb prints the last lines; no flag

  void add(CLI::App& app);

  // "traces.json" → "traces.run".
  std::filesystem::path run_folder() const;
};

}  // namespace kw
