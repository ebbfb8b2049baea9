#include "verify/protocol.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "schema/options.h"

namespace kw::verify {
namespace {

// Raised whenever the same candidate could be judged otherwise.
constexpr int protocol_version = 3;

}  // namespace

std::string protocol_hash(const Settings& settings, const wire::ReadyT& versions, const std::string& gpu) {
  return sha256_hex(fmt::format("v{} device={} gpu={} torch={} triton={}{}", protocol_version,
                                settings.device == Device::cuda ? "cuda" : "cpu", gpu, versions.torch,
                                versions.triton, protocol_text(settings)))
      .substr(0, 16);
}

std::string task_content(const Task& task) {
  return sha256_hex_of({task.reference_code, task.entry_point, task.input_shapes});
}

std::string task_key(const Task& task, const Settings& settings, std::uint32_t halvings) {
  return fmt::format("{}+{}+{}", task_content(task), task_text(settings), halvings);
}

}  // namespace kw::verify
