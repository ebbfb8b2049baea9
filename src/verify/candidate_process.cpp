#include "verify/candidate_process.h"

#include "verify/blame.h"

namespace kw::verify {

Outcome<> CandidateProcess::start(Result<std::unique_ptr<engine::Worker>> worker,
                                  std::shared_ptr<engine::ForkServer> from) {
  auto page = engine::ProgressPage::create();
  if (!worker || !page)
    return could_not_start(Stage::import_, !worker ? worker.error() : page.error(), stop_);
  (*worker)->heed(&stop_);
  runner_ = std::make_unique<engine::Runner>(std::move(*worker), std::move(*page));
  forked_by_ = std::move(from);
  return {};
}

async::Task<> CandidateProcess::end() {
  if (!runner_) co_return;
  co_await runner_->end();
  runner_.reset();
}

async::Task<Outcome<wire::LoadedT>> CandidateProcess::load(wire::LoadT request, const std::string& code,
                                                           int call_spec, int arena,
                                                           async::Deadline deadline) {
  auto loaded = co_await runner_->load(std::move(request), code, call_spec, arena, deadline);
  if (!loaded) co_return std::unexpected(blame(std::move(loaded.error()), Stage::import_));
  co_return std::move(*loaded);
}

async::Task<Outcome<wire::ReturnedT>> CandidateProcess::call(wire::CallT request, int arena,
                                                             async::Deadline deadline) {
  auto returned = co_await runner_->call(std::move(request), arena, deadline);
  if (!returned) co_return std::unexpected(blame(std::move(returned.error()), Stage::run));
  co_return std::move(*returned);
}

async::Task<std::expected<engine::Recorded, engine::Refusal>> CandidateProcess::record(
    wire::RecordT request, int arena, async::Deadline deadline) {
  co_return co_await runner_->record(std::move(request), arena, deadline);
}

async::Task<std::expected<wire::TimedT, engine::Refusal>> CandidateProcess::time(wire::TimeCandidateT request,
                                                                                 async::Deadline deadline) {
  co_return co_await runner_->time(std::move(request), deadline);
}

Ended CandidateProcess::blame(engine::Refusal refusal, Stage stage) const {
  if (was_stopped(refusal)) return Stopped{};
  // A runner ends with the process that forked it, which a candidate cannot reach.
  if (refusal.lost && forked_by_ && !forked_by_->alive())
    return OurFault{stage, Error{"the fork server of its process died", ""}};
  return CandidateRefusal{{stage, device_, runner_->in_launch(), runner_->printed()}, std::move(refusal)};
}

}  // namespace kw::verify
