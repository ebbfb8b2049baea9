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
