#include "host.h"

#include <fmt/format.h>

#include <charconv>

#include "confine.h"
#include "engine/policy.h"
#include "version.h"

namespace kw::app {
namespace {

Result<std::vector<verify::Gpu>> choose_gpus(const std::string& device) {
  std::vector<verify::Gpu> gpus = verify::visible_gpus();
  if (device == "cpu") return std::vector<verify::Gpu>{};
  if (device == "auto") return gpus;
  if (gpus.empty())
    return fail(fmt::format("--device {}: no NVIDIA GPU is visible", device),
                "`kernelwright doctor` says why; --device cpu judges without one");
  if (device == "cuda") return gpus;
  std::size_t ordinal = 0;
  std::string_view number = std::string_view(device).substr(device.find(':') + 1);
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  if (error != std::errc{} || end != number.data() + number.size() || ordinal >= gpus.size())
    return fail(fmt::format("--device {}: there are {} GPUs, counted from 0", device, gpus.size()));
  return std::vector{gpus[ordinal]};
}

// Finds out before anything starts whether candidates can be confined here.
Result<> check_sandbox(bool allow_unsandboxed) {
  if (allow_unsandboxed) return {};
  kw_probe_result probe{};
  kw_probe(&probe);
  if (probe.error == 0 && engine::isolation_level(probe.granted) != "process") return {};
  return fail("this host does not grant the namespaces that keep a candidate apart",
              "`kernelwright doctor` lists them; --allow-unsandboxed runs candidates with your own rights");
}

}  // namespace

Result<verify::LocalVerifier::Options> on_this_host(const HostOptions& options) {
  verify::LocalVerifier::Options result;
  auto gpus = choose_gpus(options.device);
  if (!gpus) return std::unexpected(gpus.error());
  if (auto sandbox = check_sandbox(options.allow_unsandboxed); !sandbox) return std::unexpected(sandbox.error());
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(options.python, *installation);
  if (!python) return std::unexpected(python.error());
  result.settings = options.settings;
  result.settings.device = gpus->empty() ? verify::Device::cpu : verify::Device::cuda;
  result.installation = std::move(*installation);
  result.python = std::move(*python);
  result.gpus = std::move(*gpus);
  result.jobs = options.jobs;
  result.memory_bytes = options.memory_bytes;
  result.unconfined = options.allow_unsandboxed;
  result.program_version = kw_version;
  return result;
}

}  // namespace kw::app
