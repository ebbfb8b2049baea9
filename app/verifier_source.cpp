#include "verifier_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>

#include "base/core/crypto.h"
#include "base/core/text.h"
#include "evaluators.h"
#include "sandbox.h"
#include "verify/workers/policy.h"
#include "version.h"

namespace kw::app {
namespace {

Result<std::vector<verify::Gpu>> choose_gpus(const DeviceChoice& device) {
  if (device.kind == DeviceKind::cpu) return std::vector<verify::Gpu>{};
  std::vector<verify::Gpu> gpus = verify::visible_gpus();
  if (device.kind == DeviceKind::auto_) return gpus;
  if (gpus.empty())
    return fail("--device cuda: no NVIDIA GPU is visible",
                "`kernelwright doctor` reports the reason; --device cpu judges without a GPU");
  if (!device.ordinal) return gpus;
  auto ordinal = static_cast<std::size_t>(*device.ordinal);
  if (ordinal >= gpus.size())
    return fail(fmt::format("--device cuda:{}: there are {} GPUs, counted from 0", ordinal, gpus.size()));
  return std::vector{gpus[ordinal]};
}

// "no pid_ns, root (mount_ns: Operation not permitted)"
std::string missing_layers(const kw_probe_result& probe) {
  if (probe.error != 0) return fmt::format("refused at {}: {}", probe.step, errno_text(probe.error));
  // Root and the PID namespace need the mount namespace, which may need a user namespace.
  const std::uint32_t needed = engine::required_layers() | KW_LAYER_MOUNT_NS | KW_LAYER_USER_NS;
  std::vector<std::string> reasons;
  for (std::uint32_t bit = 0; bit < KW_LAYER_COUNT; ++bit)
    if ((needed >> bit & 1U) != 0 && probe.errors[bit] != 0)
      reasons.push_back(fmt::format("{}: {}", kw_layer_name(1U << bit), errno_text(probe.errors[bit])));
  return fmt::format("no {} ({})",
                     fmt::join(engine::layer_names(engine::required_layers() & ~probe.granted), ", "),
                     fmt::join(reasons, ", "));
}

// Checks before any start whether this host can confine candidates.
Result<> check_sandbox(bool allow_unsandboxed) {
  if (allow_unsandboxed) return {};
  kw_probe_result probe{};
  kw_probe(&probe);
  if (probe.error == 0 && engine::isolation_level(probe.granted) != "process") return {};
  return fail("this host does not allow the namespaces that isolate candidates: " + missing_layers(probe),
              "`kernelwright doctor` lists them; --allow-unsandboxed runs candidates with your permissions");
}

}  // namespace

ParquetHelper parquet_helper(const std::string& chosen_python) {
  ParquetHelper helper;
  auto installation = engine::find_installation();
  if (!installation) return helper;
  if (auto python = engine::find_python(chosen_python, *installation)) helper.python = python->path.string();
  for (const auto& folder : installation->python_path)
    if (auto script = folder / "kernelwright/_dataset/parquet_rows.py"; std::filesystem::exists(script))
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

Result<EvaluatorPlan> plan_evaluator(const EvaluatorFlags& evaluator, const Settings& settings,
                                     const RunPlace& place) {
  EvaluatorPlan plan{settings, {}, {}, false};
  if (evaluator.is_remote()) {
    auto remote = remote_options(evaluator, settings, place);
    if (!remote) return std::unexpected(remote.error());
    plan.remote = std::move(*remote);
    return plan;
  }
  auto local = on_this_host(settings);
  if (!local) return std::unexpected(local.error());
  plan.local = std::move(*local);
  return plan;
}

async::Task<Result<std::unique_ptr<VerifierSource>>> VerifierSource::start(async::Loop& loop,
                                                                           async::Stop& stop,
                                                                           EvaluatorPlan plan, Say say) {
  std::unique_ptr<VerifierSource> evaluator(new VerifierSource(std::move(plan), std::move(say)));
  if (evaluator->plan_.remote) {
    remote::Options options = *evaluator->plan_.remote;
    options.say = evaluator->say_;
    auto started = co_await remote::RemoteVerifier::start(loop, stop, std::move(options));
    if (!started) co_return std::unexpected(started.error());
    evaluator->remote_ = std::move(*started);
  } else if (auto started = co_await evaluator->start_here(loop, stop); !started) {
    co_return std::unexpected(started.error());
  }
  co_return evaluator;
}

async::Task<Result<>> VerifierSource::start_here(async::Loop& loop, async::Stop& stop) {
  verify::LocalVerifier::Options& host = *plan_.local;
  if (!host.settings.timeline.empty()) {
    auto timeline = Timeline::create(host.settings.timeline);
    if (!timeline) co_return std::unexpected(timeline.error());
    host.timeline = timeline_ = std::move(*timeline);
  }
  if (plan_.by_source_alone) {
    by_source_ = std::make_unique<verify::StaticVerifier>(host.settings, host.program_version);
    co_return Result<>{};
  }
  auto started = co_await verify::LocalVerifier::start(loop, stop, host);
  if (!started) co_return std::unexpected(started.error());
  local_ = std::move(*started);
  co_return Result<>{};
}

std::string device_of(const verify::LocalVerifier::Options& host) {
  return host.gpus.empty() ? "cpu" : host.gpus.front().name;
}

verify::Verifier& VerifierSource::verifier() {
  if (remote_) return *remote_;
  if (by_source_) return *by_source_;
  return *local_;
}

std::string VerifierSource::device() const {
  if (remote_) return remote_->facts().gpus.empty() ? "cpu" : remote_->facts().gpus.front();
  return device_of(*plan_.local);
}

std::string start_words(const EvaluatorPlan& plan) {
  if (plan.remote) return fmt::format("asking the service {}", plan.remote->url);
  return plan.by_source_alone ? "" : "starting Python with PyTorch";
}

std::vector<std::string> VerifierSource::words() const {
  if (by_source_) return {"python: not started, every candidate is refused by its source"};
  if (remote_) {
    const remote::ServiceInfo& facts = remote_->facts();
    return {fmt::format("evaluator: {} (Kernelwright {})", plan_.remote->url, facts.version),
            fmt::format("device: {}, {} at once",
                        facts.gpus.empty() ? "CPU" : fmt::format("{} x {}", facts.gpus.size(), device()),
                        remote_->width())};
  }
  const engine::Python& python = plan_.local->python;
  return {fmt::format("python: {} (from {})", python.path.string(), python.chosen_by),
          plan_.local->gpus.empty()
              ? "device: CPU (Triton's interpreter, compile for sm_90; speed is not measured)"
              : fmt::format("device: {} x {}", plan_.local->gpus.size(), device())};
}

async::Task<> VerifierSource::end() {
  if (remote_) co_await remote_->end();
  if (local_) co_await local_->end();
  if (timeline_)
    if (auto ended = timeline_->finish(); !ended) say_("warning: --timeline: " + ended.error().what);
}

namespace {

namespace fs = std::filesystem;

// The URL for a value of --evaluator.
Result<std::string> url_of(const std::string& where) {
  if (where.contains("://")) return where;
  auto file = evaluators_file();
  if (!file) return std::unexpected(file.error());
  auto known = find_evaluator(*file, where);
  if (!known) return std::unexpected(known.error());
  if (*known) return (*known)->url;
  return fail(
      fmt::format("--evaluator {}: no deployment is recorded in {}", where, file->string()),
      fmt::format("deploy with `kernelwright deploy {}`, or give the URL of a running service", where));
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// The same name for a resumed run, a new one for every other: a fresh run must not get earlier verdicts.
std::string run_name(const RunPlace& place) {
  if (place.output.empty() || place.fresh) return random_bytes(16);
  std::error_code error;
  fs::path path = fs::weakly_canonical(place.output, error);
  if (error) path = fs::absolute(place.output, error);
  return sha256_hex_of({host_name(), fmt::format("{}", ::getuid()), path.string()});
}

}  // namespace

Result<remote::Options> remote_options(const EvaluatorFlags& evaluator, const Settings& settings,
                                       const RunPlace& place) {
  auto url = url_of(evaluator.where);
  if (!url) return std::unexpected(url.error());
  EvaluatorKeys keys = evaluator_keys(evaluator.where, *url);
  remote::Options options;
  options.url = std::move(*url);
  options.keys = std::move(keys.headers);
  options.key_advice = std::move(keys.advice);
  options.settings = job_options(settings);
  options.in_flight = settings.jobs;
  options.run = run_name(place);
  options.fresh = place.fresh;
  options.pace.patience = std::chrono::milliseconds(static_cast<long>(evaluator.patience_s * 1000));
  options.http.user_agent = fmt::format("kernelwright/{}", kw_version);
  return options;
}

}  // namespace kw::app
