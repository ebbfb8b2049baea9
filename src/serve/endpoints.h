// The service's own endpoints, and what all dialects need: the JSON of a call, and waiting while the client
// is connected.
#pragma once

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "base/async/workbench.h"
#include "serve/evaluation.h"
#include "serve/routes.h"
#include "serve/task_catalogue.h"

namespace kw::service {

// The body's object; a refusal if it has another type or is not valid JSON.
Answered<boost::json::object> json_body(const Call& call);

// The result of the wait, or a refusal if the client disconnects first.
template <typename T>
async::Task<Answered<T>> unless_gone(const Call& call, async::Task<Answered<T>> waiting) {
  using namespace boost::asio::experimental::awaitable_operators;
  auto first = co_await (std::move(waiting) || call.responder.until_gone());
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return refuse({499, "client_gone", "the client has gone"});
}

// An endpoint that answers without waiting.
Endpoint answered_at_once(std::function<http::Response(const Call&)> answer);

inline constexpr double longest_wait_s = 60;

// `wait_s` of the query, 0 without it; a refusal unless it is a number from 0 to longest_wait_s.
Answered<double> wait_of(const Call& call);
async::Deadline deadline_after(double seconds);

// `limit` of the query, 100 without it; a refusal unless it is a number from 1 to `most`.
Answered<std::size_t> limit_of(const Call& call, std::size_t most);

// A whole number from 0, without sign or space.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

// The service's own endpoints.
struct EvaluationLimits {
  std::size_t max_batch = 1'000;
};

// /v1/evaluations and its subpaths.
void add_evaluation_endpoints(Routes& routes, async::Workbench& workbench, EvaluationLimits limits);

// The service's description of itself.
struct SelfPortrait {
  std::function<Answered<boost::json::object>()> service;                  // GET /v1/service
  std::function<async::Task<Answered<std::string>>(JobOptions)> protocol;  // POST /v1/protocol
  std::function<http::Response()> health;                                  // GET /health
  std::function<std::string()> metrics;                                    // GET /metrics
};

void add_service_endpoints(Routes& routes, SelfPortrait portrait);

// docs/openapi.json
std::string_view openapi();

}  // namespace kw::service
