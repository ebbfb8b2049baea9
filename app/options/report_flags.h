// Flags of `report`, which writes runs, verdicts, scores and data sets as a page.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace kw {

struct ReportFlags {
  std::vector<std::string> paths;
  std::string output;   // empty: the summary alone
  std::string figures;  // a folder; empty: none
  std::vector<std::string> input;
  bool redact = false;
  bool include_restricted = false;
  std::uint64_t split_bytes = std::uint64_t{64} << 20;
  std::string python;
  bool quiet = false;

  void add(CLI::App& app);
};

}  // namespace kw
