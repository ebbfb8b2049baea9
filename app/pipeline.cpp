#include "pipeline.h"

#include "base/async/loop.h"
#include "verify/api/shared_verifier.h"

namespace kw::app {

Pipeline::Pipeline(async::Loop& loop, async::Stop& stop, verify::Verifier& verifier, PipelineHooks hooks)
    : loop_(loop),
      stop_(stop),
      hooks_(std::move(hooks)),
      verifier_(loop, stop, verifier, {.known = [this](std::string work) { return known(std::move(work)); }}),
      changed_(loop) {}

async::Task<Result<>> Pipeline::run(Source& source) {
  Result<> ended;
  try {
    ended = co_await read(source);
  } catch (...) {
    broke(std::current_exception());
  }
  while (in_flight_ > 0) co_await room();
  if (ended && trouble_) ended = std::unexpected(*trouble_);
  co_return ended;
}

async::Task<Result<>> Pipeline::read(Source& source) {
  while (!stop_.requested() && !trouble_) {
    auto next = source.next();
    if (!next) co_return std::unexpected(next.error());
    if (!*next) break;
    if (auto* error = std::get_if<RowError>(&**next)) {
      hooks_.bad_row(*error);
      continue;
    }
    auto job = std::make_shared<const Job>(std::move(std::get<Job>(**next)));
    if (hooks_.done_before(*job, verify::work_key(*job, verifier_))) continue;
    while (in_flight_ >= verifier_.width() && !stop_.requested()) co_await room();
    ++in_flight_;
    async::spawn(loop_, judge(std::move(job)), [this](const std::exception_ptr& thrown) {
      if (thrown) broke(thrown);
      --in_flight_;
      changed_.set();
    });
  }
  co_return Result<>();
}

async::Task<> Pipeline::room() {
  changed_.reset();
  co_await changed_.wait();
}

async::Task<> Pipeline::judge(std::shared_ptr<const Job> job) {
  if (auto verdict = co_await verifier_.verify(*job, stop_)) hooks_.judged(*job, *verdict);
}

async::Task<std::optional<Verdict>> Pipeline::known(std::string work) {
  co_return hooks_.known(work);
}

void Pipeline::broke(const std::exception_ptr& thrown) {
  if (!trouble_) trouble_ = Error{"cannot write the results: " + async::what_of(thrown), ""};
}

}  // namespace kw::app
