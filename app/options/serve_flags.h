// Flags of the service (address, access and storage), and of `deploy ray` and `deploy modal`.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "options/tls_flags.h"
#include "types/options.h"

namespace kw {

// Parses "90", "30s", "15m", "12h", "7d".
Result<std::chrono::seconds> parse_time(const std::string& text);

struct ServeFlags {
  std::string host = "127.0.0.1";
  std::uint64_t port = 8471;
  std::string store;  // empty: in the user's state folder
  std::string api_key_file;
  std::string keys;                      // file of the owners' keys
  std::vector<std::string> allow_hosts;  // names under which a service without a key is reached
  TlsFlags tls;
  std::uint64_t max_body_bytes = std::uint64_t{32} << 20;
  double rate = 0;  // requests a second and address; 0: no limit
  std::uint64_t queue = 10'000;
  std::chrono::seconds retention{7 * 24 * 3600};
  std::chrono::seconds drain{15};
  std::vector<std::string> tasks;  // sources of tasks that clients name by id
  std::uint64_t conversations = 10'000;
  std::chrono::seconds conversation_ttl{3600};
  bool quiet = false;
  bool log_bodies = false;
  bool parent_death = false;
  std::string evaluator;  // URL of another service that judges; empty: this machine

  void add(CLI::App& app);
};

// "2", or "1:8".
struct Scale {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

Result<Scale> parse_scale(const std::string& text);

struct DeployRayFlags {
  std::string address;  // empty: the cluster that this machine belongs to
  std::string host = "127.0.0.1";
  std::uint64_t port = 8000;
  Device device = Device::cuda;
  std::optional<Scale> replicas;  // none: one per GPU
  std::optional<std::uint64_t> cpus;
  std::string store;
  std::string api_key_file;
  double idle_s = 300;
  double wait_s = 900;
  std::string python;
  bool dry_run = false;
  std::vector<std::string> serve_words;

  void add(CLI::App& app);
};

struct DeployModalFlags {
  std::string gpu = "H100!";
  Scale containers{0, 4};
  std::uint64_t cpus = 8;
  std::uint64_t memory_bytes = std::uint64_t{32} << 30;
  double idle_s = 300;
  std::string program;
  std::string environment;  // Modal's
  std::string python;
  bool dry_run = false;
  std::vector<std::string> serve_words;

  void add(CLI::App& app);
};

struct DeployFlags {
  DeployRayFlags ray;
  DeployModalFlags modal;

  // The verbs `ray` and `modal` below it.
  void add(CLI::App& app);
};

}  // namespace kw
