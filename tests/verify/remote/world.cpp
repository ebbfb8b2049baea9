#include "world.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/async/wait.h"
#include "base/core/json.h"

namespace kw::remote::test {

namespace json = boost::json;

http::Response json_response(int status, const json::value& body, http::Headers headers) {
  headers.push_back({"Content-Type", "application/json"});
  return {status, std::move(headers), json::serialize(body)};
}

http::Response error_response(int status, std::string message, std::string field, http::Headers headers) {
  json::object error{{"class", "some"}, {"message", message}, {"field", nullptr}};
  if (!field.empty()) error["field"] = field;
  return json_response(status, json::object{{"error", error}}, std::move(headers));
}

json::object correct_verdict(const json::object& request, const std::string& protocol) {
  Verdict verdict;
  verdict.id = request.at("id").as_string();
  verdict.task_id = request.at("task_id").as_string();
  verdict.candidate_sha256 = candidate_sha256(std::string_view(request.at("kernel_code").as_string()));
  verdict.status = Status::correct;
  verdict.stage = Stage::done;
  verdict.counts = true;
  verdict.timing.why_null = "no GPU: speed is not measured";
  verdict.environment.protocol = protocol;
  return to_json(verdict);
}

void FakeService::start() {
  server_ = std::move(*http::Server::listen(loop_, {.port = port_},
                                            [this](const http::Request& request, http::Responder& responder) {
                                              return handle(request, responder);
                                            }));
  port_ = server_->port();
  url_ = server_->url();
}

// The usual protocol, and another one for other trials.
std::string FakeService::protocol_of(const json::object& wanted) const {
  const json::value* trials = wanted.if_contains("correctness_trials");
  return trials == nullptr ? protocol : protocol + "-" + json::serialize(*trials);
}

void FakeService::judge(const std::string& id) {
  Evaluation& evaluation = store[id];
  if (evaluation.state != "queued") return;
  ++judged[id];
  evaluation.state = "done";
  evaluation.verdict =
      correct_verdict(evaluation.request, protocol_of(evaluation.request.at("options").as_object()));
  judging(evaluation);
}

void FakeService::judge_all() {
  for (const std::string& id : order)
    if (store.contains(id)) judge(id);
  changed_.set();
}

http::Response FakeService::submit(const json::object& body) {
  json::array receipts;
  const json::array& evaluations = body.at("evaluations").as_array();
  batches.push_back(evaluations.size());
  for (const json::value& each : evaluations) {
    std::string id(each.at("id").as_string());
    auto [place, is_new] = store.try_emplace(id);
    if (!is_new && place->second.request != each.as_object())
      return error_response(409, "another body", "id");
    place->second.request = each.as_object();
    if (is_new) order.push_back(id);
    receipts.push_back(json::object{{"id", id}, {"state", place->second.state}});
    if (judges_at_once) judge(id);
  }
  changed_.set();
  return json_response(202, json::object{{"evaluations", receipts}});
}

async::Task<http::Response> FakeService::poll(json::object body) {
  auto wait = std::chrono::milliseconds(static_cast<long>(body.at("wait_s").to_number<double>() * 1000));
  auto deadline = async::Deadline::in(wait);
  for (;;) {
    json::array over;
    for (const json::value& id : body.at("ids").as_array()) {
      auto found = store.find(std::string(id.as_string()));
      if (found == store.end())
        over.push_back(json::object{{"id", id}, {"state", "unknown"}});
      else if (found->second.state == "done")
        over.push_back(json::object{{"id", id}, {"state", "done"}, {"verdict", found->second.verdict}});
      else if (found->second.state == "cancelled")
        over.push_back(json::object{{"id", id}, {"state", "cancelled"}, {"cause", found->second.cause}});
    }
    if (!over.empty() || deadline.passed()) co_return json_response(200, json::object{{"evaluations", over}});
    changed_.reset();
    (void)co_await async::within(deadline, nullptr, [](async::Event* event) -> async::Task<bool> {
      co_await event->wait();
      co_return true;
    }(&changed_));
  }
}

async::Task<> FakeService::handle(const http::Request& request, http::Responder& responder) {
  std::string path = request.url;
  if (request.method == "DELETE") path = path.substr(0, path.rfind('/'));
  ++asked[request.method + " " + path];
  last_headers = request.headers;
  most_connections = std::max(most_connections, server_->connections());
  if (instead)
    if (auto answer = instead(request)) co_return co_await responder.send(std::move(*answer));
  json::value body = request.body.empty() ? json::value() : parse_json(request.body).value();
  if (path == "/health") {
    co_await responder.send(
        json_response(health == "ready" ? 200 : 503, {{"status", health}, {"why", "a test"}}));
  } else if (path == "/v1/service") {
    json::object all{{"version", "1"},  {"protocol", protocol},
                     {"device", "cpu"}, {"gpus", json::array()},
                     {"width", 8},      {"limits", {{"max_body_bytes", 1 << 20}, {"max_batch", 100}}}};
    for (const auto& [key, value] : facts) all[key] = value;
    co_await responder.send(json_response(200, all));
  } else if (path == "/v1/protocol") {
    options_seen.push_back(body.at("options").as_object());
    co_await responder.send(json_response(200, {{"protocol", protocol_of(options_seen.back())}}));
  } else if (path == "/v1/evaluations/batch") {
    co_await responder.send(submit(body.as_object()));
  } else if (path == "/v1/evaluations/poll") {
    co_await responder.send(co_await poll(body.as_object()));
  } else if (request.method == "DELETE") {
    Evaluation& evaluation = store[request.url.substr(path.size() + 1)];
    if (evaluation.state == "queued") evaluation.state = "cancelled";
    co_await responder.send(json_response(200, {{"state", evaluation.state}}));
  } else {
    co_await responder.send(error_response(404, "no such thing"));
  }
}

Job job(std::size_t number) {
  Job job;
  job.id = fmt::format("row-{}", number);
  job.task.task_id = fmt::format("sample/{}", number);
  job.task.reference_code = "def reference_impl(x):\n    return x\n";
  job.candidate.code = fmt::format("# {}\ndef triton_kernel_wrapper(x):\n    return x\n", number);
  return job;
}

void beside(async::Loop& loop, async::Task<> meanwhile) {
  boost::asio::co_spawn(loop, std::move(meanwhile), boost::asio::detached);
}

async::Task<> sleep(std::chrono::milliseconds wait) {
  co_await async::sleep_until(async::Deadline::in(wait));
}

World::World() {
  options.pace = {
      .patience = 2s, .request = 1s, .poll = 200ms, .refresh = 60s, .backoff = {.first = 4ms, .most = 40ms}};
  options.run = "a run";
  options.say = [this](const std::string& line) { said.push_back(line); };
}

Result<> World::connect() {
  Options given = options;
  if (given.url.empty()) given.url = service.url();
  auto started = run_task(loop, RemoteVerifier::start(loop, stop, std::move(given)));
  if (!started) return std::unexpected(started.error());
  verifier = std::move(*started);
  return {};
}

std::optional<Verdict> World::verify(const Job& job) {
  return run_task(loop, verifier->verify(job, stop));
}

std::vector<std::optional<Verdict>> World::verify_all(std::size_t count) {
  struct Shared {
    std::vector<std::optional<Verdict>> verdicts;
    std::size_t next = 0;
    std::size_t done = 0;
  } shared;
  shared.verdicts.resize(count);
  auto work = [](World* world, Shared* all) -> async::Task<> {
    while (all->next < all->verdicts.size()) {
      std::size_t mine = all->next++;
      Job one = job(mine);
      all->verdicts[mine] = co_await world->verifier->verify(one, world->stop);
      ++all->done;
    }
  };
  for (std::size_t i = 0; i < std::min(count, verifier->width()); ++i) beside(loop, work(this, &shared));
  run_task(loop, [](Shared* all) -> async::Task<bool> {
    while (all->done < all->verdicts.size()) co_await sleep(1ms);
    co_return true;
  }(&shared));
  return std::move(shared.verdicts);
}

}  // namespace kw::remote::test
