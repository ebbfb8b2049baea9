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

HostOptions host_options(const EngineFlags& engine, const CorrectnessFlags& correctness,
                         const TimingFlags& timing) {
  HostOptions options;
  options.device = engine.device;
  options.python = engine.python;
  options.jobs = engine.jobs;
  if (engine.memory_bytes > 0) options.memory_bytes = engine.memory_bytes;
  options.allow_unsandboxed = engine.allow_unsandboxed;
  verify::Settings& settings = options.settings;
  settings.correctness_trials = static_cast<std::uint32_t>(correctness.trials);
  settings.timing_trials = static_cast<std::uint32_t>(timing.trials);
  settings.timing_precision = timing.precision;
  settings.tolerance = {correctness.tolerance.name, correctness.tolerance.rtol, correctness.tolerance.atol};
  settings.precision = correctness.precision;
  settings.tf32 = correctness.tf32;
  settings.move_weights = correctness.move_weights;
  settings.reduce_shapes = correctness.reduce_shapes;
  settings.audit = correctness.audit;
  settings.recordings = engine.recordings;
  settings.replay = timing.instrument == Trust::replay;
  settings.compile_baseline = timing.compile_baseline;
  settings.timeout = std::chrono::milliseconds(static_cast<long>(engine.timeout_s * 1000));
  return options;
}

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

Result<verify::LocalVerifier::Options> on_this_host(const HostOptions& options) {
  verify::LocalVerifier::Options result;
  auto gpus = choose_gpus(options.device);
  if (!gpus) return std::unexpected(gpus.error());
  if (auto sandbox = check_sandbox(options.allow_unsandboxed); !sandbox)
    return std::unexpected(sandbox.error());
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
