#include "remote/remote_verifier.h"

#include <boost/json/serialize.hpp>

#include "async/spawn.h"
#include "base/hash.h"
#include "remote/request.h"
#include "remote/verdict_reader.h"
#include "schema/json.h"
#include "schema/options.h"

namespace kw::remote {

namespace {

// Tries of earlier runs that are found over without a verdict, and passed by.
constexpr unsigned most_passed_by = 50;

// An evaluation that was there before us and has no verdict is no answer: it was cancelled, or its machine
// broke.
bool is_worth_another_try(const Delivery& delivery, const Result<Verdict>& verdict) {
  if (!delivery.was_over) return false;
  return delivery.end == Delivery::End::cancelled || (verdict && verdict->fault == Fault::infrastructure);
}

Error cancelled_there(const std::string& name, const Delivery& delivery) {
  auto cause = string_at(delivery.said, "cause");
  return {name + " cancelled the evaluation" + (cause ? ": " + *cause : ""), ""};
}

}  // namespace

RemoteVerifier::RemoteVerifier(async::Loop& loop, Options options, std::shared_ptr<Api> api, Facts facts,
                               std::string protocol)
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

// A verdict under another protocol is one of a service that was started anew, or of a fleet whose machines
// differ.
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

// The number of the try that is due. One id is under way once at a time.
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

// A fleet grows and shrinks while it works.
void RemoteVerifier::look_again() {
  auto now = async::SteadyClock::now();
  if (options_.in_flight > 0 || now - looked_at_ < options_.pace.refresh) return;
  looked_at_ = now;
  // Where that fails the width stays what it was.
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

}  // namespace kw::remote
