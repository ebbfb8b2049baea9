#include "verify/remote/api.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cmath>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/http/client.h"
#include "base/http/url.h"
#include "types/options.h"

namespace kw::remote {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_message = 400;

ServiceFailure from_failure(const http::Failure& failure) {
  ServiceFailure trouble{.what = failure.what, .remedy = failure.remedy};
  if (failure.fault == http::Fault::too_large) trouble.kind = ServiceFailure::Kind::too_large;
  if (failure.fault == http::Fault::stopped) trouble.kind = ServiceFailure::Kind::stopped;
  if (failure.fault == http::Fault::bad_url) trouble.kind = ServiceFailure::Kind::refused;
  return trouble;
}

ServiceFailure::Kind kind_of(int status) {
  switch (status) {
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
      return ServiceFailure::Kind::refused;
    case 401:
    case 403:
      return ServiceFailure::Kind::locked;
    case 429:
      return ServiceFailure::Kind::full;
    case 503:
      return ServiceFailure::Kind::not_ready;
    default:
      // A proxy answers 404, 502 or 504 while the service behind it is replaced.
      return ServiceFailure::Kind::away;
  }
}

std::string shown_message(std::string_view text) {
  return to_plain_text(shorten(trim(text), longest_message));
}

// Reads Kernelwright's error body, {"error": {"class", "message", "field"}}; ignores those of other programs.
void take_words(const json::object& body, ServiceFailure& trouble, std::string& words) {
  const json::value* error = body.if_contains("error");
  if (error == nullptr || !error->is_object()) return;
  words = shown_message(string_at(error->get_object(), "message").value_or(""));
  trouble.field = string_at(error->get_object(), "field").value_or("");
}

ServiceFailure from_status(const http::Response& response, const Asked& asked) {
  ServiceFailure trouble{.kind = kind_of(response.status), .status = response.status, .what = {}};
  std::string words;
  if (auto body = parse_json(response.body); body && body->is_object())
    take_words(body->get_object(), trouble, words);
  trouble.what = fmt::format("{} answers {} with {}{}{}", asked.name, asked.what, response.status,
                             words.empty() ? "" : ": ", words);
  trouble.retry_after = http::retry_after(response.headers, std::chrono::system_clock::now());
  if (trouble.kind == ServiceFailure::Kind::locked) trouble.remedy = asked.advice;
  return trouble;
}

}  // namespace

Answer<json::object> read_answer(std::expected<http::Response, http::Failure> outcome, const Asked& asked) {
  if (!outcome) return std::unexpected(from_failure(outcome.error()));
  if (outcome->status / 100 != 2) return std::unexpected(from_status(*outcome, asked));
  auto body = parse_json(outcome->body);
  if (body && body->is_object()) return std::move(body->get_object());
  std::string type(http::header(outcome->headers, "Content-Type"));
  return std::unexpected(
      ServiceFailure{.status = outcome->status,
                     .what = fmt::format("{} answers {} without a JSON object, with {}", asked.name,
                                         asked.what, type.empty() ? "something else" : shown_message(type)),
                     .remedy = "check whether another program uses its address"});
}

namespace {

namespace json = boost::json;

// Percent-encodes an id for a path. This program makes the ids; encoding them is a precaution.
std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

ServiceFailure nonsense(const std::string& name, std::string_view what) {
  return {.what = fmt::format("{} answers {} in a form that Kernelwright's service never uses", name, what),
          .remedy = "check whether another program uses its address"};
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
    return fail(fmt::format("the evaluator's URL {} contains a user name or a password", url->absolute()),
                "set KERNELWRIGHT_EVALUATOR_KEY to the key; the program never prints it");
  if (url->target.contains('?'))
    return fail(fmt::format("the evaluator's URL {} contains a query", url->absolute()),
                "give only the address, like https://host:8900");
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

async::Task<Answer<ServiceInfo>> Api::facts(async::Stop& stop) {
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
