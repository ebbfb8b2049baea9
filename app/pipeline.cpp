#include "pipeline.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace kw::app {

async::Task<Result<>> Pipeline::run(JobSource& source) {
  Result<> ended;
  while (!stop_.requested()) {
    auto next = source.next();
    if (!next) {
      ended = std::unexpected(next.error());
      break;
    }
    if (!*next) break;
    if (auto* error = std::get_if<RowError>(&**next)) {
      hooks_.bad_row(*error);
      continue;
    }
    auto job = std::make_shared<Job>(std::move(std::get<Job>(**next)));
    if (hooks_.done_before(*job)) continue;
    while (in_flight_ >= verifier_.width() && !stop_.requested()) co_await room();
    ++in_flight_;
    boost::asio::co_spawn(loop_, judge(std::move(job)), boost::asio::detached);
  }
  while (in_flight_ > 0) co_await room();
  co_return ended;
}

async::Task<> Pipeline::room() {
  changed_.reset();
  co_await changed_.wait();
}

async::Task<> Pipeline::judge(std::shared_ptr<Job> job) {
  if (auto verdict = co_await verdict_for(*job)) {
    verdict->id = job->id;
    verdict->sample_number = job->sample_number;
    verdict->kernel_name.reset();
    if (!job->candidate.kernel_name.empty()) verdict->kernel_name = job->candidate.kernel_name;
    hooks_.judged(*job, *verdict);
  }
  --in_flight_;
  changed_.set();
}

async::Task<std::optional<Verdict>> Pipeline::verdict_for(const Job& job) {
  if (auto known = hooks_.known(job)) co_return known;
  std::string key = job.task.task_id + " " + candidate_sha256(job.candidate.code) + " " + job.candidate.entry;
  auto [entry, first] = shared_.try_emplace(key);
  if (first) entry->second = std::make_shared<Shared>(loop_);
  std::shared_ptr<Shared> shared = entry->second;
  if (first) {
    shared->verdict = co_await verifier_.verify(job, stop_);
    shared->done.set();
  } else {
    co_await shared->done.wait();
  }
  co_return shared->verdict;
}

}  // namespace kw::app
