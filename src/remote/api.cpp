#include "remote/api.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cmath>

#include "http/url.h"
#include "remote/answer.h"
#include "schema/json.h"
#include "schema/options.h"

namespace kw::remote {
namespace {

namespace json = boost::json;

// Ids are ours, but what stands in a path is escaped all the same.
std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

Trouble nonsense(const std::string& name, std::string_view what) {
  return {.what = fmt::format("{} answers {} as no service of Kernelwright's does", name, what),
          .remedy = "see whether another program has its address"};
}

Answer<std::vector<Standing>> read_standings(Answer<json::object> answer, const std::string& name,
                                             std::string_view what) {
  if (!answer) return std::unexpected(std::move(answer.error()));
  json::value* list = answer->if_contains("evaluations");
  if (list == nullptr || !list->is_array()) return std::unexpected(nonsense(name, what));
  std::vector<Standing> standings;
  for (json::value& each : list->get_array()) {
    if (!each.is_object()) continue;
    json::object& said = each.get_object();
    auto id = string_at(said, "id");
    auto state = string_at(said, "state");
    if (id && state) standings.push_back({std::move(*id), std::move(*state), std::move(said)});
  }
  return standings;
}

}  // namespace

Api::Api(async::Loop& loop, const Options& options, std::string base, std::string name)
    : client_(loop, options.http),
      keys_(options.keys),
      base_(std::move(base)),
      name_(std::move(name)),
      advice_(options.key_advice),
      request_time_(options.pace.request) {}

Result<std::shared_ptr<Api>> Api::make(async::Loop& loop, const Options& options) {
  auto url = http::parse_url(options.url);
  if (!url) return std::unexpected(url.error());
  if (!url->userinfo.empty())
    return fail(fmt::format("the evaluator's URL {} holds a name or a password", url->absolute()),
                "a key goes into KERNELWRIGHT_EVALUATOR_KEY, which is never shown");
  if (url->target.contains('?'))
    return fail(fmt::format("the evaluator's URL {} holds a query", url->absolute()),
                "give the address alone, like https://host:8900");
  std::string base = url->absolute();
  while (base.ends_with('/')) base.pop_back();
  return std::shared_ptr<Api>(new Api(loop, options, base, fmt::format("the evaluator at {}", base)));
}

async::Task<std::expected<http::Response, http::Failure>> Api::send(Question question, async::Stop& stop) {
  http::Request request{.method = question.method,
                        .url = base_ + question.path,
                        .headers = keys_,
                        .body = std::move(question.body)};
  request.headers.push_back({"Accept", "application/json"});
  if (!request.body.empty()) request.headers.push_back({"Content-Type", "application/json"});
  co_return co_await client_.send(request, async::Deadline::in(request_time_ + question.on_top), &stop);
}

async::Task<Answer<json::object>> Api::ask(Question question, async::Stop& stop) {
  Asked asked{name_, fmt::format("{} {}", question.method, question.path), advice_};
  co_return read_answer(co_await send(std::move(question), stop), asked);
}

async::Task<Answer<Facts>> Api::facts(async::Stop& stop) {
  auto answer = co_await ask({"GET", "/v1/service"}, stop);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto facts = read_facts(*answer);
  if (!facts) co_return std::unexpected(nonsense(name_, "GET /v1/service"));
  co_return std::move(*facts);
}

async::Task<Answer<Health>> Api::health(async::Stop& stop) {
  auto outcome = co_await send({"GET", "/health"}, stop);
  if (outcome && outcome->status == 503) outcome->status = 200;
  auto answer = read_answer(std::move(outcome), {name_, "GET /health", advice_});
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto status = string_at(*answer, "status");
  if (!status) co_return std::unexpected(nonsense(name_, "GET /health"));
  co_return Health{*status, string_at(*answer, "why").value_or("")};
}

async::Task<Answer<std::string>> Api::protocol(JobOptions options, async::Stop& stop) {
  json::object body{{"options", options_json(options)}};
  auto answer = co_await ask({"POST", "/v1/protocol", json::serialize(body)}, stop);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto protocol = string_at(*answer, "protocol");
  if (!protocol || protocol->empty()) co_return std::unexpected(nonsense(name_, "POST /v1/protocol"));
  co_return std::move(*protocol);
}

async::Task<Answer<std::vector<Standing>>> Api::submit(json::array evaluations, async::Stop& stop) {
  json::object body{{"evaluations", std::move(evaluations)}};
  auto answer = co_await ask({"POST", "/v1/evaluations/batch", json::serialize(body)}, stop);
  co_return read_standings(std::move(answer), name_, "POST /v1/evaluations/batch");
}

async::Task<Answer<std::vector<Standing>>> Api::poll(std::vector<std::string> ids,
                                                     std::chrono::milliseconds wait, async::Stop& stop) {
  json::object body{{"ids", json::array(ids.begin(), ids.end())},
                    {"wait_s", static_cast<double>(wait.count()) / 1000}};
  auto answer = co_await ask({"POST", "/v1/evaluations/poll", json::serialize(body), wait}, stop);
  co_return read_standings(std::move(answer), name_, "POST /v1/evaluations/poll");
}

async::Task<Answer<>> Api::cancel(std::string id, async::Stop& stop) {
  auto answer = co_await ask({"DELETE", "/v1/evaluations/" + escaped(id)}, stop);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return Answer<>{};
}

}  // namespace kw::remote
