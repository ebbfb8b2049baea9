#include "verify/protocol.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace kw::verify {
namespace {

// Raised whenever the same candidate could be judged otherwise.
constexpr int protocol_version = 2;

}  // namespace

std::string protocol_hash(const Settings& settings, const wire::ReadyT& versions, const std::string& gpu) {
  bool cuda = settings.device == Device::cuda;
  std::string text =
      fmt::format("v{} device={} gpu={} trials={} tolerance={},{},{} precision={} tf32={} weights={}",
                  protocol_version, cuda ? "cuda" : "cpu", gpu, settings.correctness_trials,
                  settings.tolerance.name, settings.tolerance.rtol, settings.tolerance.atol,
                  settings.precision, settings.tf32, settings.move_weights);
  text += cuda ? fmt::format(" timing={},{} replay={} audit={}", settings.timing_trials,
                             settings.timing_precision, settings.replay, settings.audit)
               : fmt::format(" reduce={}", settings.reduce_shapes);
  text += fmt::format(" timeout={} torch={} triton={}", settings.timeout.count(), versions.torch,
                      versions.triton);
  return sha256_hex(text).substr(0, 16);
}

std::string task_content(const Task& task) {
  return sha256_hex_of({task.reference_code, task.entry_point, task.input_shapes});
}

std::string task_key(const Task& task, const Settings& settings, std::uint32_t halvings) {
  return fmt::format("{}+{},{},{}+{},{},{}+{}", task_content(task), settings.precision, settings.tf32,
                     settings.move_weights, settings.tolerance.name, settings.tolerance.rtol,
                     settings.tolerance.atol, halvings);
}

}  // namespace kw::verify
