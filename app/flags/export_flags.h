// What `export` reads, and what it makes of it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace kw {

struct ExportFlags {
  std::string run;
  std::string output;
  std::string format = "messages";
  std::string rows;  // empty: turn
  std::string reasoning = "reasoning_content";
  std::string filter;     // empty: correct, and none for traces
  std::string min_trust;  // empty: any
  std::string form;       // of traces; empty: single where no trace has a second turn
  bool best_only = false;
  bool include_benchmarks = false;
  std::optional<std::uint64_t> max_bytes;
  std::string python;
  bool quiet = false;

  void add(CLI::App& app);
};

}  // namespace kw
