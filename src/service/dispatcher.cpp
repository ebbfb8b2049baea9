#include "service/dispatcher.h"

#include <algorithm>
#include <exception>

#include "service/verdicts.h"

namespace kw::service {

// A verifier that answers at once would come back here before the call that started it has ended.
void Dispatcher::pump() {
  if (pumping_ || verifier_ == nullptr) return;
  pumping_ = true;
  while (works_.size() < std::max<std::size_t>(1, verifier_->width()) && !queue_.empty() &&
         hooks_.may_start())
    start(queue_.pop());
  pumping_ = false;
}

bool Dispatcher::join(const EntryPtr& entry) {
  if (entry->fresh) return false;
  auto found = by_key_.find(entry->work_key);
  if (found == by_key_.end() || found->second->stop.requested()) return false;
  share(found->second, entry);
  return true;
}

void Dispatcher::leave(const EntryPtr& entry) {
  auto work = std::exchange(entry->work, {}).lock();
  if (!work) return;
  std::erase(work->sharing, entry);
  if (work->sharing.empty()) work->stop.request("nobody waits for it any more");
}

void Dispatcher::stop_all(const std::string& cause) {
  for (const auto& work : works_) work->stop.request(cause);
}

void Dispatcher::share(const std::shared_ptr<Work>& work, const EntryPtr& entry) {
  work->sharing.push_back(entry);
  entry->work = work;
  hooks_.started(entry);
}

void Dispatcher::start(const EntryPtr& entry) {
  auto work = std::make_shared<Work>(spawn_.loop());
  work->job = entry->job;
  work->key = entry->work_key;
  work->first = entry;
  works_.insert(work);
  auto& joined = by_key_[work->key];
  if (!joined || joined->stop.requested()) joined = work;
  share(work, entry);
  for (const EntryPtr& equal : queue_.take_equal(work->key)) share(work, equal);
  spawn_(run(work));
}

async::Task<> Dispatcher::run(std::shared_ptr<Work> work) {
  std::optional<Verdict> verdict;
  std::string trouble;
  try {
    verdict = co_await verifier_->verify(*work->job, work->stop);
    if (!verdict && !work->stop.requested()) trouble = "the verifier gave no verdict";
  } catch (const std::exception& error) {
    trouble = std::string("the verifier broke: ") + error.what();
  } catch (...) {
    trouble = "the verifier broke";
  }
  if (!trouble.empty()) verdict = no_fault_of_the_candidate(*work->job, std::move(trouble));
  works_.erase(work);
  if (auto found = by_key_.find(work->key); found != by_key_.end() && found->second == work)
    by_key_.erase(found);
  hooks_.judged(work, verdict);
  pump();
}

}  // namespace kw::service
