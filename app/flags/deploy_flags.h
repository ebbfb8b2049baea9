// What `deploy ray` and `deploy modal` are given.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

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
  std::string device = "cuda";
  std::optional<Scale> replicas;  // nothing: a replica for each GPU there is
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
