#include "verify/remote/remote_verifier.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "base/async/loop.h"
#include "base/async/wait.h"
#include "base/core/crypto.h"
#include "base/core/json.h"
#include "types/options.h"
#include "verify/remote/evaluation.h"
#include "verify/remote/service.h"

namespace kw::remote {

namespace {

// Limits how many tries of earlier runs that ended without a verdict are skipped.
constexpr unsigned most_passed_by = 50;

// An evaluation of an earlier request that ended without a verdict is no answer: it was cancelled, or its
// machine failed.
bool is_worth_another_try(const Delivery& delivery, const Result<Verdict>& verdict) {
  if (!delivery.was_over) return false;
  return delivery.end == Delivery::End::cancelled || (verdict && verdict->fault == Fault::infrastructure);
}

Error cancelled_there(const std::string& name, const Delivery& delivery) {
  auto cause = string_at(delivery.said, "cause");
  return {name + " cancelled the evaluation" + (cause ? ": " + *cause : ""), ""};
}

}  // namespace

RemoteVerifier::RemoteVerifier(async::Loop& loop, Options options, std::shared_ptr<Api> api,
                               ServiceInfo facts, std::string protocol)
    : loop_(loop),
      options_(std::move(options)),
      api_(std::move(api)),
      facts_(std::move(facts)),
      protocol_(std::move(protocol)),
      nobody_(loop),
      courier_(std::make_unique<Courier>(loop, api_, options_, facts_)) {}

RemoteVerifier::~RemoteVerifier() {
  *is_alive_ = false;
}

std::size_t RemoteVerifier::width() const {
  return options_.in_flight > 0 ? options_.in_flight : facts_.width;
}

std::string RemoteVerifier::protocol_with(const JobOptions& options) const {
  JobOptions all = overlaid(options_.settings, options);
  if (all == options_.settings) return protocol_;
  constexpr std::size_t digits = 16;
  return sha256_hex_of({protocol_, boost::json::serialize(options_json(all))}).substr(0, digits);
}

async::Task<Result<std::string>> RemoteVerifier::find_protocol(JobOptions options) {
  JobOptions all = overlaid(options_.settings, options);
  if (all == options_.settings) co_return protocol_;
  const std::string key = boost::json::serialize(options_json(all));
  if (auto known = found_.find(key); known != found_.end()) co_return known->second;
  auto protocol = co_await api_->protocol(all, nobody_);
  if (!protocol) co_return std::unexpected(protocol.error().error());
  found_[key] = *protocol;
  co_return std::move(*protocol);
}

// A verdict under another protocol comes from a restarted service, or from a fleet whose machines differ.
async::Task<Result<Verdict>> RemoteVerifier::believed(const Delivery& delivery, const Job& job,
                                                      async::Stop& stop) {
  bool is_known = job.options == JobOptions();
  auto verdict = read_verdict(delivery.said, job, is_known && !options_.follows ? protocol_ : std::string());
  if (!verdict || !is_known || verdict->environment.protocol == protocol_) co_return verdict;
  auto now = co_await api_->protocol(options_.settings, stop);
  if (now && *now != protocol_) {
    protocol_ = std::move(*now);
    found_.clear();
  }
  co_return read_verdict(delivery.said, job, protocol_);
}

// The number of the next try. An id is under way at most once at a time.
unsigned RemoteVerifier::begin_try(const std::string& work) {
  auto known = tried_.find(work);
  unsigned tried = known == tried_.end() ? 0 : known->second;
  while (!under_way_.insert(evaluation_id(work, tried)).second) ++tried;
  return tried;
}

async::Task<std::optional<Verdict>> RemoteVerifier::carry_out(const Job& job, boost::json::object request,
                                                              async::Stop& stop) {
  const std::string work = work_name(options_.run, job.id, request);
  for (unsigned passed_by = 0;; ++passed_by) {
    unsigned tried = begin_try(work);
    std::string id = evaluation_id(work, tried);
    request["id"] = id;
    std::size_t bytes = boost::json::serialize(request).size();
    Delivery delivery = co_await courier_->carry({id, request, bytes}, stop);
    under_way_.erase(id);
    if (delivery.end == Delivery::End::stopped) co_return std::nullopt;
    Result<Verdict> verdict = fail("");
    if (delivery.end == Delivery::End::done) verdict = co_await believed(delivery, job, stop);
    bool is_vain = !verdict || verdict->fault == Fault::infrastructure;
    if (is_vain && delivery.end != Delivery::End::failed) tried_[work] = tried + 1;
    if (is_worth_another_try(delivery, verdict) && passed_by < most_passed_by) continue;
    if (verdict) co_return std::move(*verdict);
    Error why = delivery.end == Delivery::End::failed ? delivery.trouble.error()
                : delivery.end == Delivery::End::cancelled
                    ? cancelled_there(api_->name(), delivery)
                    : Error{api_->name() + ": " + verdict.error().what, verdict.error().remedy};
    co_return no_verdict(job, protocol_with(job.options), why);
  }
}

async::Task<std::optional<Verdict>> RemoteVerifier::verify(const Job& job, async::Stop& stop) {
  if (stop.requested()) co_return std::nullopt;
  look_again();
  co_return co_await carry_out(job, request_of(job, overlaid(options_.settings, job.options), options_.fresh),
                               stop);
}

// Updates the width, since a fleet grows and shrinks while it works.
void RemoteVerifier::look_again() {
  auto now = async::SteadyClock::now();
  if (options_.in_flight > 0 || now - looked_at_ < options_.pace.refresh) return;
  looked_at_ = now;
  // If the request fails, the width stays the same.
  async::spawn(
      loop_,
      [](RemoteVerifier* self, std::shared_ptr<Api> api, std::shared_ptr<bool> is_alive,
         async::Loop* loop) -> async::Task<> {
        async::Stop nobody(*loop);
        auto facts = co_await api->facts(nobody);
        if (facts && *is_alive) self->facts_.width = facts->width;
      }(this, api_, is_alive_, &loop_),
      [](const std::exception_ptr&) {});
}

namespace {

// Contacts a service and waits until it is ready.

using namespace std::chrono_literals;
using Kind = ServiceFailure::Kind;

constexpr http::BackoffOptions waiting_pace{500ms, 3'000ms};

// Asks until the service is ready, as long as it reports that it will be.
class Greeting {
 public:
  Greeting(Api& api, const Options& options, async::Stop& stop) : api_(api), options_(options), stop_(stop) {}

  async::Task<Result<ServiceInfo>> facts() {
    auto deadline = async::Deadline::in(options_.pace.patience);
    http::Backoff backoff(waiting_pace);
    std::mt19937_64 random{std::random_device{}()};
    for (;;) {
      auto facts = co_await ready();
      if (facts) co_return std::move(*facts);
      const ServiceFailure& trouble = facts.error();
      bool may_come = trouble.kind == Kind::not_ready || trouble.kind == Kind::full;
      if (!may_come || stop_.requested()) co_return std::unexpected(advised(trouble));
      if (deadline.passed())
        co_return fail(fmt::format("{}: not ready within {} s", trouble.what,
                                   std::chrono::duration<double>(options_.pace.patience).count()),
                       "check its log, or raise --evaluator-patience");
      say(trouble.what);
      co_await async::pause(backoff.next(trouble.retry_after, random), stop_);
    }
  }

 private:
  // A service that still starts may not have its description yet, but checks keys already.
  async::Task<Answer<ServiceInfo>> ready() {
    auto health = co_await api_.health(stop_);
    if (!health) co_return std::unexpected(std::move(health.error()));
    auto facts = co_await api_.facts(stop_);
    if (!facts && facts.error().kind == Kind::locked) co_return facts;
    if (health->status != "ready")
      co_return std::unexpected(
          ServiceFailure{.kind = Kind::not_ready,
                         .what = fmt::format("{} is {}{}", api_.name(), health->status,
                                             health->why.empty() ? "" : ": " + health->why)});
    co_return facts;
  }

  static Error advised(const ServiceFailure& trouble) {
    if (!trouble.remedy.empty()) return trouble.error();
    if (trouble.status == 404 || trouble.status == 405)
      return {trouble.what, "another program uses this address, or the service has another path"};
    return {trouble.what, "check that the service runs there; `kernelwright serve` starts one"};
  }

  // Repeats no message in a row.
  void say(const std::string& line) {
    if (line != said_ && options_.say) options_.say(line);
    said_ = line;
  }

  Api& api_;
  const Options& options_;
  async::Stop& stop_;
  std::string said_;
};

}  // namespace

async::Task<Result<std::unique_ptr<RemoteVerifier>>> RemoteVerifier::start(async::Loop& loop,
                                                                           async::Stop& stop,
                                                                           Options options) {
  auto api = Api::make(loop, options);
  if (!api) co_return std::unexpected(api.error());
  Greeting greeting(**api, options, stop);
  auto facts = co_await greeting.facts();
  if (!facts) co_return std::unexpected(facts.error());
  auto protocol = co_await (*api)->protocol(options.settings, stop);
  if (!protocol) co_return std::unexpected(protocol.error().error());
  co_return std::unique_ptr<RemoteVerifier>(
      new RemoteVerifier(loop, std::move(options), std::move(*api), std::move(*facts), std::move(*protocol)));
}

}  // namespace kw::remote
