#include "verify/workers/policy.h"

#include <fmt/format.h>
#include <unistd.h>

#include "sandbox.h"

namespace kw::engine {
namespace {

// Above the uids that distributions give to users and services, below nobody's.
constexpr std::uint32_t first_uid = 61184;

constexpr std::uint32_t full_layers = KW_LAYER_MOUNT_NS | KW_LAYER_PID_NS | KW_LAYER_NET_NS |
                                      KW_LAYER_IPC_NS | KW_LAYER_UTS_NS | KW_LAYER_ROOT | KW_LAYER_UID |
                                      KW_LAYER_NO_NEW_PRIVS | KW_LAYER_LANDLOCK | KW_LAYER_RLIMITS |
                                      KW_LAYER_SECCOMP;
// Without these a candidate can read the reference from the disk or outlive its runner.
constexpr std::uint32_t partial_layers = KW_LAYER_PID_NS | KW_LAYER_ROOT | KW_LAYER_UID | KW_LAYER_NET_NS;

}  // namespace

wire::SpawnT to_message(const SpawnRequest& request, std::uint32_t slot) {
  wire::SpawnT spawn;
  spawn.role = to_string(request.role);
  spawn.device = request.device;
  spawn.uid = first_uid + slot % 2048;
  spawn.address_space_bytes =
      request.mapped_bytes == 0 ? 0 : request.mapped_bytes + request.limits.memory_bytes;
  spawn.memory_bytes = request.limits.memory_bytes * 2;
  spawn.tmp_bytes = request.limits.tmp_bytes;
  spawn.file_bytes = request.limits.file_bytes;
  spawn.processes = request.limits.processes;
  spawn.open_files = request.limits.open_files;
  spawn.readable = request.readable;
  spawn.cgroup = fmt::format("kernelwright-{}-{}", ::getpid(), slot);
  spawn.required_layers = request.unconfined ? 0U : partial_layers;
  spawn.environment = request.environment;
  spawn.tool = request.tool;
  spawn.unconfined = request.unconfined;
  return spawn;
}

std::vector<std::string> layer_names(std::uint32_t layers) {
  std::vector<std::string> names;
  for (std::uint32_t bit = 0; bit < KW_LAYER_COUNT; ++bit)
    if ((layers >> bit & 1U) != 0) names.emplace_back(kw_layer_name(1U << bit));
  return names;
}

std::uint32_t required_layers() {
  return partial_layers;
}

std::string isolation_level(std::uint32_t layers) {
  if ((layers & full_layers) == full_layers) return "full";
  return (layers & partial_layers) == partial_layers ? "partial" : "process";
}

}  // namespace kw::engine
