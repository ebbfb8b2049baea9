// Where the service listens, who may ask, and what it keeps.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace kw {

// "90", "30s", "15m", "12h", "7d".
Result<std::chrono::seconds> parse_time(const std::string& text);

struct ServeFlags {
  std::string host = "127.0.0.1";
  std::uint64_t port = 8471;
  std::string store;  // empty: in the user's state folder
  std::string api_key_file;
  std::string tls_certificate;
  std::string tls_key;
  std::uint64_t max_body_bytes = std::uint64_t{32} << 20;
  double rate = 0;  // requests a second and address; 0: no limit
  std::uint64_t queue = 10'000;
  std::chrono::seconds retention{7 * 24 * 3600};
  std::chrono::seconds drain{15};
  bool quiet = false;
  bool log_bodies = false;
  bool parent_death = false;
  std::string evaluator;  // URL of another service that judges; empty: this machine

  void add(CLI::App& app);
};

}  // namespace kw
