#include "llm/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "llm/base_url.h"
#include "llm/server_error.h"
#include "schema/json.h"

namespace kw::llm {
namespace {

using namespace std::chrono_literals;

constexpr auto probe_timeout = 30s;

// The server is there, and does not list models (here).
bool is_unknown_path(int status) {
  return status == 404 || status == 405 || status == 501;
}

std::unexpected<Error> unreachable(const std::string& url, const http::Failure& failure) {
  std::string remedy = failure.remedy;
  if (remedy.empty()) remedy = "start the model server, or name another with --vllm-url";
  return fail(fmt::format("cannot reach the model server at {}: {}", url, failure.what), remedy);
}

std::unexpected<Error> refused(const std::string& url, int status, std::string_view body) {
  ServerError error = read_error(status, body);
  std::string remedy;
  if (status == 401 || status == 403) remedy = "set OPENAI_API_KEY to a key that this server accepts";
  if (status == 503) remedy = "the server may still be loading its model: try again in a while";
  return fail(fmt::format("{} answered {}: {}", url, status, error.message), remedy);
}

Result<Listing> listing_of(const std::string& url, const http::Response& response) {
  auto body = parse_json(to_utf8(response.body));
  auto listing = body ? read_listing(*body, response.headers) : fail("not JSON");
  if (!listing)
    return fail(fmt::format("{} answered with something else than a list of models", url),
                "is this the address of an OpenAI-compatible server?");
  return listing;
}

}  // namespace

std::string without_key(std::string text, const ServerOptions& options) {
  std::string_view key = trim(options.api_key);
  if (key.size() < 4) return text;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at))
    text.replace(at, key.size(), "[key]");
  return text;
}

Result<http::Headers> common_headers(const ServerOptions& options) {
  http::Headers headers{{"Accept", "application/json"}};
  std::string key(trim(options.api_key));
  if (key.empty()) return headers;
  bool plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 127; });
  if (!plain) return fail("the API key holds a blank or a character beyond ASCII", "look at OPENAI_API_KEY");
  headers.push_back({"Authorization", "Bearer " + key});
  return headers;
}

async::Task<Result<Listing>> list_models(http::Client& client, const ServerOptions& options,
                                         async::Stop& stop) {
  auto bases = base_urls(options.base_url);
  if (!bases) co_return std::unexpected(bases.error());
  auto headers = common_headers(options);
  if (!headers) co_return std::unexpected(headers.error());
  Listing unknown;
  for (const std::string& base : *bases) {
    http::Request request{.method = "GET", .url = base + "/models", .headers = *headers, .body = {}};
    auto response = co_await client.send(request, async::Deadline::in(probe_timeout), &stop);
    if (!response) co_return unreachable(base, response.error());
    if (unknown.base_url.empty()) unknown.base_url = base;
    if (is_unknown_path(response->status)) continue;
    if (response->status / 100 != 2)
      co_return refused(request.url, response->status, without_key(response->body, options));
    auto listing = listing_of(request.url, *response);
    if (listing) listing->base_url = base;
    co_return listing;
  }
  co_return unknown;
}

async::Task<Result<Probe>> probe(http::Client& client, const ServerOptions& options, async::Stop& stop) {
  auto listing = co_await list_models(client, options, stop);
  if (!listing) co_return std::unexpected(listing.error());
  Probe found;
  found.server = listing->server;
  for (const ListedModel& model : listing->models) found.models.push_back(model.info);
  co_return found;
}

}  // namespace kw::llm
