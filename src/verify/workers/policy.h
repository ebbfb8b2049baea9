// Sandbox policies of runners and oracles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "verify/messages/message.h"

namespace kw::engine {

struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  // beyond what the fork server maps already
  std::uint64_t tmp_bytes = std::uint64_t{512} << 20;
  std::uint64_t file_bytes = std::uint64_t{8} << 30;  // arenas are files
  std::uint32_t processes = 256;
  std::uint32_t open_files = 1024;
};

BOOST_DEFINE_ENUM_CLASS(Role, runner, oracle, replayer, broker)

struct SpawnRequest {
  Role role = Role::runner;
  int device = -1;  // N of /dev/nvidiaN, the only visible one; -1: none
  Limits limits;
  std::uint64_t mapped_bytes = 0;  // by the fork server; 0: no address space limit
  std::vector<std::string> readable;
  std::vector<std::string> environment;  // NAME=value, in addition to the fork server's
  std::vector<std::string> tool;  // of a replayer: the program under which it runs, and its first words
  bool unconfined = false;
};

// Names the cgroup and picks an unprivileged uid that no live worker uses.
wire::SpawnT to_message(const SpawnRequest& request, std::uint32_t slot);

// The names of the layers in a mask.
std::vector<std::string> layer_names(std::uint32_t layers);

// "full", "partial" or "process" (verdict field isolation). "full" also requires seccomp.
std::string isolation_level(std::uint32_t layers);
// The layers that candidates are not run without, unless unconfined.
std::uint32_t required_layers();

}  // namespace kw::engine
