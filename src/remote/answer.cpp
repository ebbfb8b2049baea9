#include "remote/answer.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/backoff.h"
#include "schema/json.h"

namespace kw::remote {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_message = 400;

Trouble from_failure(const http::Failure& failure) {
  Trouble trouble{.what = failure.what, .remedy = failure.remedy};
  if (failure.fault == http::Fault::too_large) trouble.kind = Trouble::Kind::too_large;
  if (failure.fault == http::Fault::stopped) trouble.kind = Trouble::Kind::stopped;
  if (failure.fault == http::Fault::bad_url) trouble.kind = Trouble::Kind::refused;
  return trouble;
}

Trouble::Kind kind_of(int status) {
  switch (status) {
    case 400:
    case 409:
    case 413:
    case 415:
    case 422:
      return Trouble::Kind::refused;
    case 401:
    case 403:
      return Trouble::Kind::locked;
    case 429:
      return Trouble::Kind::full;
    case 503:
      return Trouble::Kind::not_ready;
    default:
      // A proxy before a service that is just being replaced says 404, 502 or 504.
      return Trouble::Kind::away;
  }
}

std::string shown(std::string_view text) {
  return to_plain_text(shorten(trim(text), longest_message));
}

// What an error of ours says: {"error": {"class", "message", "field"}}; other programs' bodies say nothing.
void take_words(const json::object& body, Trouble& trouble, std::string& words) {
  const json::value* error = body.if_contains("error");
  if (error == nullptr || !error->is_object()) return;
  words = shown(string_at(error->get_object(), "message").value_or(""));
  trouble.field = string_at(error->get_object(), "field").value_or("");
}

Trouble from_status(const http::Response& response, const Asked& asked) {
  Trouble trouble{.kind = kind_of(response.status), .status = response.status, .what = {}};
  std::string words;
  if (auto body = parse_json(response.body); body && body->is_object())
    take_words(body->get_object(), trouble, words);
  trouble.what = fmt::format("{} answers {} with {}{}{}", asked.name, asked.what, response.status,
                             words.empty() ? "" : ": ", words);
  trouble.retry_after = http::retry_after(response.headers, std::chrono::system_clock::now());
  if (trouble.kind == Trouble::Kind::locked) trouble.remedy = asked.advice;
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
      Trouble{.status = outcome->status,
              .what = fmt::format("{} answers {} with no JSON object but {}", asked.name, asked.what,
                                  type.empty() ? "something else" : shown(type)),
              .remedy = "see whether another program has its address"});
}

}  // namespace kw::remote
