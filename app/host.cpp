#include "host.h"

#include <fmt/format.h>

#include "confine.h"
#include "engine/policy.h"
#include "version.h"

namespace kw::app {
namespace {

Result<std::vector<verify::Gpu>> choose_gpus(const DeviceChoice& device) {
  if (device.kind == DeviceChoice::Kind::cpu) return std::vector<verify::Gpu>{};
  std::vector<verify::Gpu> gpus = verify::visible_gpus();
  if (device.kind == DeviceChoice::Kind::automatic) return gpus;
  if (gpus.empty())
    return fail("--device cuda: no NVIDIA GPU is visible",
                "`kernelwright doctor` says why; --device cpu judges without one");
  if (!device.ordinal) return gpus;
  auto ordinal = static_cast<std::size_t>(*device.ordinal);
  if (ordinal >= gpus.size())
    return fail(fmt::format("--device cuda:{}: there are {} GPUs, counted from 0", ordinal, gpus.size()));
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

ParquetHelper parquet_helper(const std::string& chosen_python) {
  ParquetHelper helper;
  auto installation = engine::find_installation();
  if (!installation) return helper;
  if (auto python = engine::find_python(chosen_python, *installation)) helper.python = python->path.string();
  for (const auto& folder : installation->python_path)
    if (auto script = folder / "kernelwright/parquet_rows.py"; std::filesystem::exists(script))
      helper.script = script.string();
  return helper;
}

Result<verify::LocalVerifier::Options> on_this_host(const Settings& settings) {
  verify::LocalVerifier::Options result;
  auto gpus = choose_gpus(settings.devices);
  if (!gpus) return std::unexpected(gpus.error());
  if (auto sandbox = check_sandbox(settings.allow_unsandboxed); !sandbox)
    return std::unexpected(sandbox.error());
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(settings.python, *installation);
  if (!python) return std::unexpected(python.error());
  result.settings = settings;
  result.settings.device = gpus->empty() ? verify::Device::cpu : verify::Device::cuda;
  result.installation = std::move(*installation);
  result.python = std::move(*python);
  result.gpus = std::move(*gpus);
  result.program_version = kw_version;
  return result;
}

}  // namespace kw::app
