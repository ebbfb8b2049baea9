#include "verify/judge/protocol.h"

#include <fmt/format.h>

#include "base/core/crypto.h"
#include "types/options.h"

namespace kw::verify {
namespace {

// Raise it with every change that could change a verdict.
constexpr int protocol_version = 11;

}  // namespace

std::string protocol_hash(const Settings& settings, const wire::ReadyT& versions, const std::string& gpu) {
  return sha256_hex(fmt::format("v{} device={} gpu={} torch={} triton={}{}", protocol_version,
                                to_string(settings.device), gpu, versions.torch, versions.triton,
                                protocol_text(settings)))
      .substr(0, 16);
}

std::string task_content(const Task& task) {
  return sha256_hex_of({task.reference_code, task.entry_point, task.input_shapes});
}

std::string task_key(const Task& task, const Settings& settings, std::uint32_t halvings) {
  return fmt::format("{}+{}+{}", task_content(task), task_text(settings), halvings);
}

}  // namespace kw::verify
