#include "verify/api/shared_verifier.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/async/loop.h"
#include "base/async/semaphore.h"
#include "base/async/wait.h"
#include "base/core/crypto.h"
#include "base/core/json.h"
#include "types/job.h"
#include "verify/api/verifier.h"

namespace kw::verify {
namespace {

// Removes insignificant white space. Keeps the order, which is that of the arguments if the names are not
// those of the function.
std::string shapes_of(const Task& task) {
  auto shapes = parse_json(task.input_shapes);
  return shapes ? boost::json::serialize(*shapes) : task.input_shapes;
}

}  // namespace

std::string work_key(const Job& job, std::string_view protocol) {
  return sha256_hex_of({job.task.reference_code, job.task.entry_point, shapes_of(job.task),
                        job.candidate.code, job.candidate.entry, protocol});
}

std::string work_key(const Job& job, const Verifier& verifier) {
  return work_key(job, verifier.protocol_with(job.options));
}

namespace {

// Verdicts in memory: many more than can be on their way to the store or the output file.
constexpr std::size_t most_kept_verdicts = 4'096;

bool is_fault_of_ours(const Verdict& verdict) {
  return verdict.fault == Fault::infrastructure;
}

}  // namespace

// One verification, for all that share in it.
struct SharedVerifier::Flight {
  explicit Flight(async::Loop& loop) : stop(loop), done(loop) {}

  std::shared_ptr<const Job> job;
  std::string work;
  std::size_t shares = 0;
  async::Stop stop;
  async::Event done;
  std::shared_ptr<const Verdict> verdict;  // null until done, and if it was stopped
};

// Shared with started coroutines, which may outlive the SharedVerifier.
struct SharedVerifier::State {
  using FlightPtr = std::shared_ptr<Flight>;

  State(async::Loop& on, async::Stop& until, Verifier& judge, Hooks told)
      : loop(on), stop(until), verifier(judge), hooks(std::move(told)), places(on, [&judge] {
          return judge.width();
        }) {}

  FlightPtr joinable(const std::string& work) const;
  FlightPtr opened(std::shared_ptr<const Job> job, const std::string& work);
  void keep(const std::string& work, const std::shared_ptr<const Verdict>& verdict);
  async::Task<std::optional<Verdict>> verdict_on(FlightPtr flight);
  async::Task<std::optional<Verdict>> judged(FlightPtr flight);
  void end(const FlightPtr& flight, std::optional<Verdict> verdict);

  async::Loop& loop;
  async::Stop& stop;
  Verifier& verifier;
  Hooks hooks;
  async::Semaphore places;
  std::unordered_set<FlightPtr> flights;
  std::unordered_map<std::string, FlightPtr> by_work;  // those that others may join
  std::unordered_map<std::string, std::shared_ptr<const Verdict>> kept;
  std::deque<std::string> kept_order;  // the oldest first
};

SharedVerifier::Share::Share(std::shared_ptr<Flight> flight, bool is_first)
    : flight_(std::move(flight)), is_first_(is_first) {
  ++flight_->shares;
}

async::Task<> SharedVerifier::Share::ended() const {
  return [](std::shared_ptr<Flight> flight) -> async::Task<> { co_await flight->done.wait(); }(flight_);
}

const Verdict* SharedVerifier::Share::verdict() const {
  return flight_->verdict.get();
}

bool SharedVerifier::Share::leave() {
  if (!flight_ || has_left_) return false;
  has_left_ = true;
  if (--flight_->shares > 0 || flight_->done.is_set()) return false;
  flight_->stop.request("nobody waits for it any more");
  return true;
}

SharedVerifier::State::FlightPtr SharedVerifier::State::joinable(const std::string& work) const {
  auto found = by_work.find(work);
  return found == by_work.end() || found->second->stop.requested() ? nullptr : found->second;
}

SharedVerifier::State::FlightPtr SharedVerifier::State::opened(std::shared_ptr<const Job> job,
                                                               const std::string& work) {
  auto flight = std::make_shared<Flight>(loop);
  flight->job = std::move(job);
  flight->work = work;
  flights.insert(flight);
  if (!joinable(work)) by_work[work] = flight;
  return flight;
}

void SharedVerifier::State::keep(const std::string& work, const std::shared_ptr<const Verdict>& verdict) {
  if (kept.insert_or_assign(work, verdict).second) kept_order.push_back(work);
  if (kept_order.size() <= most_kept_verdicts) return;
  kept.erase(kept_order.front());
  kept_order.pop_front();
}

async::Task<std::optional<Verdict>> SharedVerifier::State::judged(FlightPtr flight) {
  auto place = co_await places.take(flight->stop);
  if (!place || flight->stop.requested() || stop.requested()) co_return std::nullopt;
  std::optional<Verdict> verdict;
  std::string trouble;
  try {
    verdict = co_await verifier.verify(*flight->job, flight->stop);
    if (!verdict && !flight->stop.requested() && !stop.requested()) trouble = "the verifier gave no verdict";
  } catch (...) {
    trouble = "the verifier broke: " + async::what_of(std::current_exception());
  }
  if (!trouble.empty()) verdict = no_verdict(*flight->job, std::move(trouble));
  if (verdict && hooks.judged) hooks.judged(*verdict);
  co_return verdict;
}

async::Task<std::optional<Verdict>> SharedVerifier::State::verdict_on(FlightPtr flight) {
  if (hooks.known)
    if (auto known = co_await hooks.known(flight->work); known && !is_fault_of_ours(*known)) co_return known;
  co_return co_await judged(flight);
}

void SharedVerifier::State::end(const FlightPtr& flight, std::optional<Verdict> verdict) {
  flights.erase(flight);
  if (auto found = by_work.find(flight->work); found != by_work.end() && found->second == flight)
    by_work.erase(found);
  if (verdict) {
    // A verifier that asks a service may have found another protocol there. Then it is unknown under which
    // protocol the verdict was made, so later jobs do not get it.
    const std::string key = flight->work.substr(flight->work.rfind('\x1f') + 1);  // without its groups
    bool is_of_this_work = work_key(*flight->job, verifier) == key;
    verdict->work = is_of_this_work ? std::optional(key) : std::nullopt;
    flight->verdict = std::make_shared<const Verdict>(std::move(*verdict));
    if (is_of_this_work && !is_fault_of_ours(*flight->verdict)) keep(flight->work, flight->verdict);
  }
  flight->done.set();
}

async::Task<> SharedVerifier::carry_out(std::shared_ptr<State> state, std::shared_ptr<Flight> flight) {
  std::optional<Verdict> verdict;
  try {
    verdict = co_await state->verdict_on(flight);
  } catch (...) {
    verdict = no_verdict(*flight->job, "it was not judged: " + async::what_of(std::current_exception()));
  }
  state->end(flight, std::move(verdict));
}

SharedVerifier::SharedVerifier(async::Loop& loop, async::Stop& stop, Verifier& verifier, Hooks hooks)
    : state_(std::make_shared<State>(loop, stop, verifier, std::move(hooks))) {}

SharedVerifier::Share SharedVerifier::share(std::shared_ptr<const Job> job, const std::string& work) {
  if (auto found = state_->kept.find(work); found != state_->kept.end()) {
    auto over = std::make_shared<Flight>(state_->loop);
    over->verdict = found->second;
    over->done.set();
    return {std::move(over), false};
  }
  if (auto flight = state_->joinable(work)) return {std::move(flight), false};
  return share_anew(std::move(job), work);
}

SharedVerifier::Share SharedVerifier::share_anew(std::shared_ptr<const Job> job, const std::string& work) {
  auto flight = state_->opened(std::move(job), work);
  async::spawn(state_->loop, carry_out(state_, flight));
  return {std::move(flight), true};
}

async::Task<std::optional<Verdict>> SharedVerifier::verify(const Job& job, async::Stop& stop) {
  return verify(std::make_shared<const Job>(job), stop);
}

async::Task<std::optional<Verdict>> SharedVerifier::verify(std::shared_ptr<const Job> job,
                                                           async::Stop& stop) {
  while (!stop.requested()) {
    Share share = this->share(job, work_key(*job, state_->verifier));
    co_await async::within(async::Deadline::never(), &stop, share.ended());
    if (stop.requested()) {
      // The last share waits for the end of the work.
      if (share.leave()) co_await share.ended();
      break;
    }
    if (share.verdict() == nullptr) break;
    if (is_fault_of_ours(*share.verdict()) && !share.is_first()) continue;
    Verdict verdict = *share.verdict();
    restamp(verdict, *job);
    co_return verdict;
  }
  co_return std::nullopt;
}

std::size_t SharedVerifier::width() const {
  return state_->verifier.width();
}

const std::string& SharedVerifier::protocol() const {
  return state_->verifier.protocol();
}

std::string SharedVerifier::protocol_with(const JobOptions& options) const {
  return state_->verifier.protocol_with(options);
}

async::Task<Result<std::string>> SharedVerifier::find_protocol(JobOptions options) {
  return state_->verifier.find_protocol(std::move(options));
}

bool SharedVerifier::is_under_way(const std::string& work) const {
  return state_->joinable(work) != nullptr;
}

std::size_t SharedVerifier::under_way() const {
  return state_->flights.size();
}

std::size_t SharedVerifier::under_way(const std::function<bool(std::string_view work)>& meant) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(state_->flights, [&](const auto& flight) { return meant(flight->work); }));
}

void SharedVerifier::stop_all(const std::string& cause) {
  for (const auto& flight : state_->flights) flight->stop.request(cause);
}

}  // namespace kw::verify
