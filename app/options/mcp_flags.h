// Flags of `mcp`, which serves the verifier to coding agents.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loop/refine/settings.h"
#include "loop/tasks/select_tasks.h"
#include "options/shared_flags.h"
#include "options/tls_flags.h"
#include "types/options.h"

namespace kw {

struct McpFlags {
  std::vector<std::string> tasks;  // sources; empty: no tasks are offered
  refine::PromptStyle style = refine::PromptStyle::wrapper;
  std::string root;  // empty: agents give sources as text alone
  bool quiet = false;
  bool http = false;  // false: standard input and output
  std::string host = "127.0.0.1";
  std::uint64_t port = 8473;
  std::string api_key_file;
  std::vector<std::string> allow_hosts;
  TlsFlags tls;
  EvaluatorFlags evaluator;
  Settings settings;

  void add(CLI::App& app);
};

// "kernelbench" and "kernelbook", with or without "@REVISION", are the data sets of the hub; any other word
// is a path. All their tasks are taken.
TaskSelection tasks_of(const std::vector<std::string>& sources);

}  // namespace kw
