// Where results go, and what is said on the way.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace kw {

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

}  // namespace kw
