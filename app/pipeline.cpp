#include "pipeline.h"

#include "base/async/loop.h"
#include "verify/api/shared_verifier.h"

namespace kw::app {
namespace {

Error thrown_by_hook(const std::exception_ptr& thrown) {
  return {"cannot write the results: " + async::what_of(thrown), ""};
}

constexpr std::size_t most_ahead = 1000;

}  // namespace

Ahead look_ahead(SourcePtr source, const std::function<bool(const Job&)>& needs_more,
                 const std::function<void(const RowError&)>& bad_row) {
  std::vector<JobOrError> jobs;
  Ahead ahead;
  Result<std::optional<JobOrError>> next;
  while (!ahead.needs_more && (next = source->next()) && *next) {
    if (auto* error = std::get_if<RowError>(&**next)) {
      bad_row(*error);
      continue;
    }
    ahead.needs_more = jobs.size() == most_ahead || needs_more(std::get<Job>(**next));
    jobs.push_back(std::move(**next));
  }
  std::vector<SourcePtr> parts;
  parts.push_back(job_list(std::move(jobs)));
  if (next)
    parts.push_back(std::move(source));
  else
    parts.push_back(
        open_later([error = next.error()]() -> Result<SourcePtr> { return std::unexpected(error); }));
  ahead.source = join(std::move(parts));
  return ahead;
}

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
    ended = fail("cannot read the input: " + async::what_of(std::current_exception()));
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
    std::get<Job>(**next).position = jobs_read_++;
    auto job = std::make_shared<const Job>(std::move(std::get<Job>(**next)));
    auto done = hooks_.done_before(*job, verify::work_key(*job, verifier_));
    if (!done) broke(done.error());
    if (!done || *done) continue;
    while (in_flight_ >= verifier_.width() && !stop_.requested()) co_await room();
    ++in_flight_;
    async::spawn(loop_, judge(std::move(job)), [this](const std::exception_ptr& thrown) {
      if (thrown) broke(thrown_by_hook(thrown));
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
  auto verdict = co_await verifier_.verify(job, stop_);
  if (!verdict || trouble_) co_return;
  if (auto kept = hooks_.judged(*job, *verdict); !kept) broke(kept.error());
}

async::Task<std::optional<Verdict>> Pipeline::known(std::string work) {
  co_return hooks_.known(work);
}

void Pipeline::broke(Error error) {
  if (!trouble_) trouble_ = std::move(error);
  stop_.request(trouble_->what);
  changed_.set();
}

}  // namespace kw::app
