// Flags of `view`, which serves the page of a report.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/tls_flags.h"

namespace kw {

struct ViewFlags {
  std::vector<std::string> paths;
  std::string host = "127.0.0.1";
  std::uint64_t port = 8472;
  std::string api_key_file;
  std::vector<std::string> allow_hosts;
  TlsFlags tls;
  std::optional<std::uint64_t> review;
  bool include_restricted = false;
  bool open = false;

  void add(CLI::App& app);
};

}  // namespace kw
