#include "evaluator.h"

#include <fmt/format.h>

#include "remote_options.h"

namespace kw::app {

Result<EvaluatorPlan> plan_evaluator(const EvaluatorFlags& evaluator, const Settings& settings,
                                     const RunPlace& place) {
  EvaluatorPlan plan{settings, {}, {}};
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

async::Task<Result<std::unique_ptr<Evaluator>>> Evaluator::start(async::Loop& loop, async::Stop& stop,
                                                                 EvaluatorPlan plan, Say say) {
  std::unique_ptr<Evaluator> evaluator(new Evaluator(std::move(plan)));
  if (evaluator->plan_.remote) {
    remote::Options options = *evaluator->plan_.remote;
    options.say = std::move(say);
    auto started = co_await remote::RemoteVerifier::start(loop, stop, std::move(options));
    if (!started) co_return std::unexpected(started.error());
    evaluator->remote_ = std::move(*started);
  } else {
    auto started = co_await verify::LocalVerifier::start(loop, stop, *evaluator->plan_.local);
    if (!started) co_return std::unexpected(started.error());
    evaluator->local_ = std::move(*started);
  }
  co_return evaluator;
}

std::string device_of(const verify::LocalVerifier::Options& host) {
  return host.gpus.empty() ? "cpu" : host.gpus.front().name;
}

verify::Verifier& Evaluator::verifier() {
  if (remote_) return *remote_;
  return *local_;
}

std::string Evaluator::device() const {
  if (remote_) return remote_->facts().gpus.empty() ? "cpu" : remote_->facts().gpus.front();
  return device_of(*plan_.local);
}

std::vector<std::string> Evaluator::words() const {
  if (remote_) {
    const remote::Facts& facts = remote_->facts();
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

async::Task<> Evaluator::end() {
  if (remote_) co_await remote_->end();
  if (local_) co_await local_->end();
}

}  // namespace kw::app
