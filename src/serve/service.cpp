#include "serve/service.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <exception>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/http/access.h"
#include "serve/conversations.h"
#include "serve/dialects/dialect.h"
#include "serve/dialects/kernelgym.h"
#include "serve/endpoints.h"
#include "serve/health.h"
#include "serve/hidden_reference.h"
#include "serve/ledger.h"
#include "serve/owned_evaluations.h"
#include "serve/routes.h"
#include "serve/runtime.h"
#include "serve/store.h"
#include "serve/task_endpoints.h"
#include "serve/telemetry.h"
#include "types/options.h"

namespace kw::service {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr auto purge_pause = 60s;
constexpr std::size_t purged_at_once = 500;
constexpr std::size_t longest_logged_target = 300;

ApiError wrong_key() {
  return {401, "unauthorized", "send the key as \"Authorization: Bearer KEY\""};
}

// A client behind a proxy may send its whole URL as the target; a password in it is the key.
std::string without_credentials(std::string_view target) {
  const auto scheme = target.substr(0, target.find_first_of("/?")).ends_with(':') ? target.find("//") : 0;
  if (scheme == 0 || scheme == std::string_view::npos) return std::string(target);
  const auto begin = scheme + 2;
  const auto at = target.substr(0, target.find_first_of("/?#", begin)).rfind('@');
  if (at == std::string_view::npos || at < begin) return std::string(target);
  return std::string(target.substr(0, begin)) + "***" + std::string(target.substr(at));
}

json::value environment_json(const std::optional<Environment>& environment) {
  if (!environment) return nullptr;
  return json::object{{"gpu", value_or_null(environment->gpu)},
                      {"driver", value_or_null(environment->driver)},
                      {"cuda", value_or_null(environment->cuda)},
                      {"torch", value_or_null(environment->torch)},
                      {"triton", value_or_null(environment->triton)}};
}

}  // namespace

// Shared with its coroutines, which may end after the Service.
struct Service::State : std::enable_shared_from_this<Service::State> {
  State(async::Loop& loop, async::Stop& whole, Options given, std::unique_ptr<Store> opened)
      : stop(whole),
        options(std::move(given)),
        store(std::move(opened)),
        spawn(loop),
        clock(options.clock),
        log(options.log_descriptor),
        keys(options.key, std::move(options.owners)),
        rate(options.rate),
        health(spawn, stop, [this] { verdicts_work(); }),
        ledger({spawn, *store, clock, metrics}, {options.queue, options.queue_bytes},
               {.may_judge = [this] { return health.may_judge() && !stop.requested(); },
                .wrote = [this](const std::optional<Error>& failed) { wrote(failed); }}),
        conversations(
            {spawn, *store, clock, metrics, ledger, workbench},
            {options.conversations, options.conversation_bytes, options.conversation_ttl, options.retention},
            {.protocol = [this] { return verifier ? verifier->protocol() : std::string(); },
             .wrote = [this](const std::optional<Error>& failed) { wrote(failed); },
             .rules = [this](std::string_view owner) { return keys.rules_of(owner); }}),
        draining(loop) {}

  FindTask finder() const;
  void add_endpoints();
  void verdicts_work();
  void judged(const Verdict& verdict);
  void wrote(const std::optional<Error>& failed);
  http::Response health_response() const;
  Answered<json::object> portrait() const;
  async::Task<Answered<std::string>> find_protocol(JobOptions wanted);
  std::string metrics_text() const;

  std::optional<ApiError> refusal_of_head(const http::Request& head, const Routes::Found& found,
                                          const Caller& caller) const;
  std::optional<ApiError> refusal_of_rate(const http::Request& request, const Caller& caller);
  std::optional<ApiError> refusal_of(const http::Request& request, const Routes::Found& found,
                                     std::string_view path, const Caller& caller);
  std::optional<ApiError> admit_another(const http::Request& request, const Caller& first);
  async::Task<http::Response> response_to(const http::Request& request, http::Responder& responder,
                                          Caller caller);
  void log_request(const http::Request& request, const http::Response& response, double ms,
                   const Caller& caller);
  static async::Task<> keep_purging(std::shared_ptr<State> state);
  static async::Task<> heed_stop(std::shared_ptr<State> state);

  async::Stop& stop;
  Options options;
  std::unique_ptr<Store> store;
  Spawner spawn;
  Clock clock;
  Log log;
  KeyRing keys;
  http::RateLimit rate;
  Metrics metrics;
  Health health;
  std::optional<verify::SharedVerifier> shared;
  Ledger ledger;
  async::Workbench workbench;
  Conversations conversations;
  async::Event draining;
  Routes routes;
  ServiceSetup facts;
  verify::Verifier* verifier = nullptr;
  async::SteadyClock::time_point began = async::SteadyClock::now();
  bool closed = false;
};

void Service::State::verdicts_work() {
  log.line("ready", {});
  ledger.pump();
}

void Service::State::judged(const Verdict& verdict) {
  bool worked = health.may_judge();
  // The reason of a failing service is told without a key, and in the log.
  Verdict told = verdict;
  if (options.tasks) hide_reference(told);
  health.judged(told);
  if (worked && !health.may_judge()) log.line("failing", {{"why", health.why()}});
}

void Service::State::wrote(const std::optional<Error>& failed) {
  if (failed) {
    ++metrics.store_failures;
    log.line("store_failed", {{"why", failed->what}, {"remedy", failed->remedy}});
  }
  health.wrote(failed);
}

http::Response Service::State::health_response() const {
  Condition condition = health.condition();
  json::object body{{"status", to_string(condition)}};
  if (condition == Condition::ready) return json_response(200, body);
  body["why"] = health.why();
  http::Response response = json_response(503, body);
  response.headers.push_back({"Retry-After", "5"});
  return response;
}

Answered<json::object> Service::State::portrait() const {
  if (verifier == nullptr) return refuse({503, "starting", "the verifier has not started yet", "", 5});
  json::array gpus;
  for (const std::string& gpu : facts.gpus) gpus.emplace_back(gpu);
  return json::object{{"version", options.version},
                      {"protocol", verifier->protocol()},
                      {"device", facts.device},
                      {"gpus", std::move(gpus)},
                      {"width", verifier->width()},
                      {"settings", options_json(facts.settings)},
                      {"environment", environment_json(health.environment())},
                      {"tasks", options.tasks ? options.tasks->all().size() : 0},
                      {"limits", json::object{{"max_body_bytes", options.max_body_bytes},
                                              {"queue", options.queue},
                                              {"max_batch", options.max_batch},
                                              {"conversations", options.conversations},
                                              {"conversation_bytes", options.conversation_bytes},
                                              {"conversation_ttl_s", options.conversation_ttl.count()}}}};
}

async::Task<Answered<std::string>> Service::State::find_protocol(JobOptions wanted) {
  if (verifier == nullptr) co_return refuse({503, "starting", "the verifier has not started yet", "", 5});
  auto found = co_await verifier->find_protocol(std::move(wanted));
  if (!found) co_return refuse({503, "unavailable", found.error().what, "", 5});
  co_return std::move(*found);
}

std::string Service::State::metrics_text() const {
  return metrics.text({.queued = ledger.queued(),
                       .running = ledger.running(),
                       .width = verifier ? verifier->width() : 0,
                       .watching = ledger.watching(),
                       .ready = health.condition() == Condition::ready,
                       .uptime_s = async::ms_since(began) / 1000});
}

FindTask Service::State::finder() const {
  auto tasks = options.tasks ? options.tasks : std::make_shared<const TaskCatalogue>();
  return [tasks](std::string_view id, std::string_view version) { return tasks->look_up(id, version); };
}

void Service::State::add_endpoints() {
  add_evaluation_endpoints(routes, workbench, {options.max_batch});
  add_task_endpoints(routes, options.tasks);
  add_conversation_endpoints(routes, conversations, workbench);
  add_service_endpoints(routes,
                        {.service = [this] { return portrait(); },
                         .protocol = [this](JobOptions wanted) { return find_protocol(std::move(wanted)); },
                         .health = [this] { return health_response(); },
                         .metrics = [this] { return metrics_text(); }});
  add_kernelgym(routes);
  add_dialects(routes, {workbench, options.tasks, conversations, draining});
}

ApiError too_often(const OwnerRules& rules, int wait_s) {
  return {
      429, "rate",
      fmt::format("this key may send {} requests a minute (requests_per_minute)", rules.requests_per_minute),
      "", wait_s};
}

// Refusals that need the header alone. With a key, the service takes any Host: a page of another site does
// not have the key.
std::optional<ApiError> Service::State::refusal_of_head(const http::Request& head, const Routes::Found& found,
                                                        const Caller& caller) const {
  if (options.names) {
    http::ServedNames names = *options.names;
    names.any_host = keys.needs_key();
    if (auto other = http::refuse_other_sites(head, names))
      return ApiError{other->status, other->error_class, other->message};
  }
  if (found.route != nullptr && found.route->open) return {};
  // Without the key, a client does not learn which paths exist.
  if (!caller.is_known) return wrong_key();
  return {};
}

std::optional<ApiError> Service::State::refusal_of_rate(const http::Request& request, const Caller& caller) {
  if (caller.rules)
    if (int wait_s = keys.seconds_to_wait(*caller.rules, async::SteadyClock::now()); wait_s > 0)
      return too_often(*caller.rules, wait_s);
  if (int wait_s = rate.seconds_to_wait(request.peer, async::SteadyClock::now()); wait_s > 0)
    return ApiError{429, "too_many_requests", "this address sends too many requests", "", wait_s};
  return {};
}

// A session of a WebSocket outlives its first request: the key is looked at again with each message.
std::optional<ApiError> Service::State::admit_another(const http::Request& request, const Caller& first) {
  const Caller caller = keys.caller_of(request.headers);
  if (!caller.is_known || caller.rules != first.rules) return wrong_key();
  return refusal_of_rate(request, caller);
}

std::optional<ApiError> Service::State::refusal_of(const http::Request& request, const Routes::Found& found,
                                                   std::string_view path, const Caller& caller) {
  if (found.route != nullptr && found.route->open) return {};
  if (auto refusal = refusal_of_rate(request, caller)) return refusal;
  if (found.route != nullptr && caller.rules && !found.route->for_owners)
    return ApiError{403, "forbidden", "this path needs the operator's key"};
  if (found.route != nullptr) return {};
  if (!found.allowed.empty())
    return ApiError{405, "method_not_allowed",
                    fmt::format("{} takes {}", to_plain_text(path), found.allowed)};
  return ApiError{404, "no_such_path", "the path does not exist; GET /openapi.json lists the paths"};
}

async::Task<http::Response> Service::State::response_to(const http::Request& request,
                                                        http::Responder& responder, Caller caller) {
  std::string_view target = request.url;
  std::string_view path = target.substr(0, target.find('?'));
  auto found = routes.find(request.method, path);
  auto refusal = refusal_of_head(request, found, caller);
  if (!refusal) refusal = refusal_of(request, found, path, caller);
  if (refusal) {
    auto response = refusal_response(*refusal);
    if (refusal->status == 405) response.headers.push_back({"Allow", found.allowed});
    co_return response;
  }
  Call call{request, responder, std::move(found.rest),
            std::string(target.substr(std::min(target.size(), path.size() + 1)))};
  call.rules = caller.rules;
  // The operator acts as an owner with ?owner=NAME.
  call.owner = caller.rules ? caller.rules->name : call.parameter("owner").value_or("");
  OwnedEvaluations own(ledger, call.owner, call.rules);
  call.evaluations = call.owner.empty() ? static_cast<EvaluationBackend*>(&ledger) : &own;
  call.find_task = tasks_for(finder(), call.rules);
  call.gradients = options.gradients;
  call.admit_another = [&] { return admit_another(request, caller); };
  try {
    co_return co_await found.route->endpoint(call);
  } catch (const std::exception& error) {
    // The exception may only mean a disconnected client or a cancelled wait.
    log.line("endpoint_failed", {{"path", to_plain_text(path)}, {"why", to_plain_text(error.what())}});
  }
  co_return refusal_response({500, "internal", "the service failed to answer"});
}

void Service::State::log_request(const http::Request& request, const http::Response& response, double ms,
                                 const Caller& caller) {
  if (!options.log_requests || !log.is_on()) return;
  json::object line{
      {"peer", request.peer},
      {"method", to_plain_text(shorten(request.method, 32))},
      {"target", to_plain_text(shorten(without_credentials(request.url), longest_logged_target))},
      {"status", response.status},
      {"ms", ms},
      {"bytes_in", request.body.size()},
      {"bytes_out", response.body.size()}};
  if (caller.rules) line["owner"] = caller.rules->name;
  if (options.log_bodies) {
    line["body_in"] = to_plain_text(request.body);
    line["body_out"] = to_plain_text(response.body);
  }
  log.line("request", line);
}

// Deletes evaluations and conversations beyond their retention in small steps.
async::Task<> Service::State::keep_purging(std::shared_ptr<State> state) {
  const auto retention_ms = std::chrono::milliseconds(state->options.retention).count();
  while (!state->closed) {
    auto gone = co_await state->store->purge(state->clock.now_ms() - retention_ms, purged_at_once);
    if (!gone) state->wrote(gone.error());
    auto ended = co_await state->conversations.purge(purged_at_once);
    bool more = (gone && *gone == purged_at_once) || (ended && *ended == purged_at_once);
    if (!more) co_await async::sleep_until(async::Deadline::in(purge_pause));
  }
}

async::Task<> Service::State::heed_stop(std::shared_ptr<State> state) {
  co_await state->stop.wait();
  state->ledger.stop_all(state->stop.cause());
}

Service::Service(std::shared_ptr<State> state) : state_(std::move(state)) {}

Service::~Service() {
  state_->closed = true;
  state_->conversations.close();
  state_->workbench.close();
  state_->store->close();
}

Result<std::unique_ptr<Service>> Service::open(async::Loop& loop, async::Stop& stop, Options options) {
  auto store = Store::open(options.store);
  if (!store) return std::unexpected(store.error());
  auto left = (*store)->open_ones();
  if (!left) return std::unexpected(left.error());
  auto state = std::make_shared<State>(loop, stop, std::move(options), std::move(*store));
  state->spawn.keeps_alive(state);
  state->add_endpoints();
  if (!left->empty()) state->log.line("resumed", {{"evaluations", left->size()}});
  state->ledger.restore(std::move(*left));
  state->conversations.resume();
  state->spawn(State::keep_purging(state));
  state->spawn(State::heed_stop(state));
  return std::unique_ptr<Service>(new Service(std::move(state)));
}

void Service::judge_with(verify::Verifier& verifier, ServiceSetup facts) {
  state_->verifier = &verifier;
  state_->facts = std::move(facts);
  state_->shared.emplace(state_->spawn.loop(), state_->stop, verifier,
                         verify::SharedVerifier::Hooks{
                             .judged = [state = state_.get()](const Verdict& each) { state->judged(each); }});
  state_->ledger.judge_with(*state_->shared);
  state_->health.judge_with(verifier, state_->facts.probe);
}

void Service::use_owners(Result<std::vector<OwnerRules>> owners) {
  if (!owners)
    return state_->log.line("keys_refused",
                            {{"why", owners.error().what}, {"remedy", owners.error().remedy}});
  state_->log.line("keys", {{"owners", owners->size()}});
  state_->keys.replace(std::move(*owners));
}

async::Task<> Service::handle(const http::Request& request, http::Responder& responder) {
  auto state = state_;
  const auto began = async::SteadyClock::now();
  const Caller caller = state->keys.caller_of(request.headers);
  http::Response response = co_await state->response_to(request, responder, caller);
  ++state->metrics.responses[response.status];
  state->log_request(request, response, async::ms_since(began), caller);
  co_await responder.send(std::move(response));
}

std::optional<http::Response> Service::turn_away(const http::Request& head) const {
  std::string_view target = head.url;
  auto found = state_->routes.find(head.method, target.substr(0, target.find('?')));
  const Caller caller = state_->keys.caller_of(head.headers);
  auto refusal = state_->refusal_of_head(head, found, caller);
  if (!refusal && caller.rules && state_->keys.is_spent(*caller.rules, async::SteadyClock::now()))
    refusal = too_often(*caller.rules, 1 + static_cast<int>(60 / caller.rules->requests_per_minute));
  if (!refusal) return {};
  return refusal_response(*refusal);
}

async::Task<> Service::drain(std::chrono::milliseconds patience) {
  auto state = state_;
  state->log.line("draining", {{"running", state->ledger.running()}, {"queued", state->ledger.queued()}});
  state->health.drain();
  state->conversations.drain();
  state->draining.set();
  co_await state->ledger.drain(async::Deadline::in(patience));
}

EvaluationBackend& Service::backend() {
  return state_->ledger;
}
Routes& Service::routes() {
  return state_->routes;
}

}  // namespace kw::service
