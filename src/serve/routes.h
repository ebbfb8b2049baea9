// Routes: the endpoint for each method and path. Responses: answers and refusals as HTTP and JSON.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/http/message.h"
#include "base/http/server.h"
#include "serve/evaluation.h"
#include "serve/owners.h"
#include "serve/task_catalogue.h"

namespace kw::service {

// One request for an endpoint. Valid until the endpoint has answered.
struct Call {
  const http::Request& request;
  http::Responder& responder;  // to detect a disconnected client; not for the answer
  std::string rest;            // of the path, decoded, for the star of the route
  std::string query;           // after the question mark, not decoded
  std::string owner{};         // whose evaluations and conversations it is about; empty: the operator's
  OwnerRulesPtr rules{};       // of the key that sent it; null: the operator's
  EvaluationBackend* evaluations = nullptr;  // the owner's own; the operator's: all
  FindTask find_task{};                      // among the tasks that the key may use
  bool gradients = false;                    // are judged where the request does not say
  // For each further message of a WebSocket: counts it as a request of this sender. A refusal: too many, or
  // the key is no longer known.
  std::function<std::optional<ApiError>()> admit_another{};

  // The first value of that name, decoded; empty if it is missing.
  std::optional<std::string> parameter(std::string_view name) const;
  // The names of all parameters, decoded.
  std::vector<std::string> parameters() const;
};

using Endpoint = std::function<async::Task<http::Response>(const Call& call)>;

struct Route {
  std::string method;
  std::string path;  // "/v1/evaluations", "/v1/evaluations/*" for all below it, "/v1/conversations/*/turns"
  Endpoint endpoint;
  bool open = false;  // needs no key
  // Uses Call's owner, evaluations and find_task, so that keys of owners may use it. Other routes are the
  // operator's.
  bool for_owners = false;
};

class Routes {
 public:
  void add(Route route);

  struct Found {
    const Route* route = nullptr;
    std::string rest;
    std::string allowed;  // if the method is not allowed: those that are, "GET, DELETE"
  };
  // An exact path comes before one with a star, and the longest of those first; HEAD is answered as GET.
  Found find(std::string_view method, std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

// Responses as HTTP and JSON.
http::Response json_response(int status, std::string text);
http::Response json_response(int status, const boost::json::value& value);

// ISO 8601 in UTC with milliseconds, or null.
boost::json::value time_json(std::optional<std::int64_t> ms);

// {"error": {"class", "message", "field"}}, with Retry-After if a retry can succeed.
http::Response refusal_response(const ApiError& refusal);

// The same if the server has not read a complete request: http::ServerOptions::refusal.
http::Response unread_response(int status);

// {"id", "state", "verdict", "cause", "submitted_at", "started_at", "finished_at"}
std::string record_json(const EvaluationState& record);

}  // namespace kw::service
