#include "serve/routes.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>

#include "base/core/json.h"
#include "base/core/text.h"

namespace kw::service {
namespace {

// The part of the path that the star of the pattern stands for; empty: it does not match. A pattern without a
// star matches itself.
std::optional<std::string_view> starred(std::string_view path, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return path == pattern ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after))
    return {};
  return path.substr(before.size(), path.size() - before.size() - after.size());
}

bool is_exact(const Route& route) {
  return !route.path.contains('*');
}

struct Parameter {
  std::string name, value;
};

// Takes the first parameter off the query.
Parameter take_parameter(std::string_view& query) {
  const std::string_view pair = query.substr(0, query.find('&'));
  query.remove_prefix(std::min(query.size(), pair.size() + 1));
  const std::size_t equals = std::min(pair.find('='), pair.size());
  return {percent_decoded(pair.substr(0, equals)),
          percent_decoded(pair.substr(std::min(pair.size(), equals + 1)))};
}

}  // namespace

std::optional<std::string> Call::parameter(std::string_view name) const {
  std::string_view left = query;
  while (!left.empty())
    if (Parameter each = take_parameter(left); each.name == name) return std::move(each.value);
  return {};
}

std::vector<std::string> Call::parameters() const {
  std::vector<std::string> names;
  std::string_view left = query;
  while (!left.empty())
    if (Parameter each = take_parameter(left); !each.name.empty()) names.push_back(std::move(each.name));
  return names;
}

void Routes::add(Route route) {
  routes_.push_back(std::move(route));
}

Routes::Found Routes::find(std::string_view method, std::string_view path) const {
  if (method == "HEAD") method = "GET";
  // The pattern that matches best: without a star, else the longest.
  auto is_better = [](const Route& route, const Route* best) {
    if (best == nullptr || is_exact(route)) return true;
    return !is_exact(*best) && route.path.size() > best->path.size();
  };
  const Route* best = nullptr;
  for (const Route& route : routes_)
    if (starred(path, route.path) && is_better(route, best)) best = &route;
  if (best == nullptr) return {};
  Found found;
  found.rest = percent_decoded(*starred(path, best->path));
  for (const Route& route : routes_) {
    if (route.path != best->path) continue;
    if (route.method == method) {
      found.route = &route;
      return found;
    }
    found.allowed += (found.allowed.empty() ? "" : ", ") + route.method;
  }
  return found;
}

namespace json = boost::json;

json::value time_json(std::optional<std::int64_t> ms) {
  if (!ms) return nullptr;
  return json::string(
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::time_t{*ms / 1000}), *ms % 1000));
}

http::Response json_response(int status, std::string text) {
  return {status, {{"Content-Type", "application/json"}}, std::move(text)};
}

http::Response json_response(int status, const json::value& value) {
  return json_response(status, json::serialize(value));
}

http::Response refusal_response(const ApiError& refusal) {
  json::object error{
      {"class", refusal.error_class}, {"message", refusal.message}, {"field", text_or_null(refusal.field)}};
  http::Response response = json_response(refusal.status, json::object{{"error", std::move(error)}});
  if (refusal.retry_after_s > 0)
    response.headers.push_back({"Retry-After", fmt::format("{}", refusal.retry_after_s)});
  if (refusal.status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

http::Response unread_response(int status) {
  switch (status) {
    case 408:
      return refusal_response({408, "too_slow", "the request did not arrive in time"});
    case 413:
      return refusal_response(
          {413, "too_large", "the body exceeds the limit; GET /v1/service returns the limit"});
    case 429:
      return refusal_response({429, "too_many_requests", "this address has too many connections", "", 5});
    case 431:
      return refusal_response({431, "too_large", "the header exceeds the limit"});
    case 503:
      return refusal_response(
          {503, "busy", "there are too many connections, or too many large requests at once", "", 5});
    default:
      return refusal_response({status, "invalid", "the request is not HTTP/1.1"});
  }
}

std::string record_json(const EvaluationState& record) {
  json::object object{{"id", public_id(record.id)},
                      {"state", to_string(record.state)},
                      {"cause", text_or_null(record.cause)},
                      {"submitted_at", time_json(record.submitted_at_ms)},
                      {"started_at", time_json(record.started_at_ms)},
                      {"finished_at", time_json(record.finished_at_ms)}};
  if (auto owner = owner_of(record.id); !owner.empty()) object["owner"] = owner;
  std::string text = json::serialize(object);
  // Inserts the verdict's JSON as text: parsing and serializing it would dominate the cost.
  text.pop_back();
  text += ",\"verdict\":";
  text += record.verdict ? std::string_view(*record.verdict) : "null";
  text += '}';
  return text;
}

}  // namespace kw::service
