#include "refine/verdict_desk.h"

#include <algorithm>
#include <exception>

namespace kw::refine {

std::string VerdictDesk::key_of(const Job& job) {
  return job.task.task_id + '\n' + candidate_sha256(job.candidate.code);
}

async::Task<Result<std::optional<Verdict>>> VerdictDesk::verdict_for(const Job& job) {
  std::string key = key_of(job);
  auto [entry, first] = shared_.try_emplace(key);
  if (first) entry->second = std::make_shared<Shared>(loop_);
  std::shared_ptr<Shared> shared = entry->second;
  if (!first) {
    co_await shared->done.wait();
    co_return shared->verdict;
  }
  try {
    shared->verdict = co_await first_of_its_kind(job);
  } catch (const std::exception& error) {
    shared->verdict = fail(std::string("the verifier broke: ") + error.what());
  }
  // What is not there to be saved is tried anew by the next who asks.
  if (!shared->verdict || !*shared->verdict) shared_.erase(key);
  shared->done.set();
  co_return shared->verdict;
}

async::Task<Result<std::optional<Verdict>>> VerdictDesk::first_of_its_kind(const Job& job) {
  auto known = co_await log_.known_verdict(job.task.task_id, candidate_sha256(job.candidate.code),
                                           verifier_.protocol());
  if (!known) co_return std::unexpected(known.error());
  if (*known && (*known)->fault != Fault::infrastructure) co_return known;
  co_await take_place();
  std::optional<Verdict> verdict;
  std::exception_ptr thrown;
  try {
    if (!stop_.requested()) verdict = co_await verifier_.verify(job, stop_);
  } catch (...) {
    thrown = std::current_exception();
  }
  give_place();
  if (thrown) std::rethrow_exception(thrown);
  co_return verdict;
}

async::Task<> VerdictDesk::take_place() {
  if (running_ < std::max<std::size_t>(1, verifier_.width())) {
    ++running_;
    co_return;
  }
  auto turn = std::make_shared<async::Event>(loop_);
  waiting_.push_back(turn);
  co_await turn->wait();
}

// A place goes to who waits longest without being free in between.
void VerdictDesk::give_place() {
  if (waiting_.empty()) {
    --running_;
    return;
  }
  waiting_.front()->set();
  waiting_.pop_front();
}

}  // namespace kw::refine
