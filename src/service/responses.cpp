#include "service/responses.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace kw::service {
namespace {

namespace json = boost::json;

json::value time_json(std::optional<std::int64_t> ms) {
  if (!ms) return nullptr;
  return json::string(
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::time_t{*ms / 1000}), *ms % 1000));
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(json::string(text));
}

}  // namespace

http::Response json_response(int status, std::string text) {
  return {status, {{"Content-Type", "application/json"}}, std::move(text)};
}

http::Response json_response(int status, const json::value& value) {
  return json_response(status, json::serialize(value));
}

http::Response refusal_response(const Refusal& refusal) {
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
      return refusal_response({408, "too_slow", "the request took too long to come"});
    case 413:
      return refusal_response({413, "too_large", "the body is over the limit; GET /v1/service tells it"});
    case 429:
      return refusal_response({429, "too_many_requests", "this address has too many connections", "", 5});
    case 431:
      return refusal_response({431, "too_large", "the header is over the limit"});
    case 503:
      return refusal_response({503, "busy", "there are too many connections", "", 5});
    default:
      return refusal_response({status, "invalid", "the request is not HTTP/1.1"});
  }
}

std::string record_json(const Record& record) {
  std::string text = json::serialize(json::object{{"id", record.id},
                                                  {"state", to_string(record.state)},
                                                  {"cause", text_or_null(record.cause)},
                                                  {"submitted_at", time_json(record.submitted_at_ms)},
                                                  {"started_at", time_json(record.started_at_ms)},
                                                  {"finished_at", time_json(record.finished_at_ms)}});
  // The verdict is JSON already; reading it only to write it again would cost more than all the rest.
  text.pop_back();
  text += ",\"verdict\":";
  text += record.verdict ? std::string_view(*record.verdict) : "null";
  text += '}';
  return text;
}

}  // namespace kw::service
