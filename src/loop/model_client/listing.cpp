#include "loop/model_client/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cctype>

#include "base/core/json.h"
#include "base/core/text.h"
#include "loop/model_client/retry.h"
#include "loop/model_client/server_error.h"

namespace kw::llm {
namespace {

constexpr std::string_view url_remedy = "give the server's address, like http://localhost:8000/v1";

void drop_end(std::string& url, std::string_view end) {
  if (url.ends_with(end)) url.resize(url.size() - end.size());
}

void drop_slashes(std::string& url) {
  while (url.ends_with('/')) url.pop_back();
}

// "v1", "v1beta".
bool is_version(std::string_view segment) {
  return segment.size() >= 2 && segment[0] == 'v' &&
         std::isdigit(static_cast<unsigned char>(segment[1])) != 0;
}

bool has_version(std::string_view path) {
  while (!path.empty()) {
    std::size_t slash = path.find('/');
    if (is_version(path.substr(0, slash))) return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> base_urls(std::string_view given) {
  std::string url(trim(given));
  if (url.find("://") == std::string::npos) url = "http://" + url;
  std::size_t host = url.find("://") + 3;
  std::size_t path = std::min(url.find('/', host), url.size());
  // The error omits the URL, since the text before the @ may be a password.
  if (url.substr(host, path - host).find('@') != std::string::npos)
    return fail("the server's URL contains a user name or a password",
                "give the key in OPENAI_API_KEY instead");
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return fail(fmt::format("{}: not http or https", url), std::string(url_remedy));
  if (path == host) return fail(fmt::format("\"{}\" has no host", given), std::string(url_remedy));
  if (url.find_first_of("?# ") != std::string::npos)
    return fail(fmt::format("{}: the server's URL contains a query, a fragment or a space",
                            url.substr(0, url.find_first_of("?# "))),
                std::string(url_remedy));
  drop_slashes(url);
  for (std::string_view end : {"/chat/completions", "/completions", "/models"}) drop_end(url, end);
  drop_slashes(url);
  if (url.size() <= path) return std::vector{url + "/v1"};
  if (has_version(std::string_view(url).substr(path + 1))) return std::vector{url};
  return std::vector{url + "/v1", url};
}

namespace json = boost::json;
namespace {

// The context length of the server comes before that of the model's training.
constexpr std::string_view length_names[] = {"max_model_len",  "n_ctx",          "loaded_context_length",
                                             "context_length", "context_window", "max_context_length",
                                             "n_ctx_train"};

std::optional<std::uint64_t> positive_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_number()) return {};
  boost::system::error_code inexact;
  auto number = value->to_number<std::uint64_t>(inexact);
  if (inexact || number == 0) return {};
  return number;
}

std::optional<std::uint64_t> context_of(const json::object& model) {
  const json::value* meta = model.if_contains("meta");
  for (std::string_view name : length_names) {
    if (auto length = positive_at(model, name)) return length;
    if (meta && meta->is_object())
      if (auto length = positive_at(meta->get_object(), name)) return length;
  }
  return {};
}

const json::array* list_in(const json::value& body) {
  if (body.is_array()) return &body.get_array();
  if (!body.is_object()) return nullptr;
  for (std::string_view key : {"data", "models"})
    if (const json::value* list = body.get_object().if_contains(key); list && list->is_array())
      return &list->get_array();
  return nullptr;
}

std::string id_of(const json::object& model) {
  for (std::string_view key : {"id", "name", "model"})
    if (auto id = string_at(model, key); id && !id->empty()) return *id;
  return {};
}

// transformers reports the part of an id before its slash as the owner.
bool owner_is_author(const json::object& model) {
  std::string id = id_of(model);
  std::size_t slash = id.find('/');
  return slash != std::string::npos && string_at(model, "owned_by").value_or("") == id.substr(0, slash);
}

std::string server_of(const json::array& models, const http::Headers& headers) {
  std::string product = lower(http::header(headers, "server"));
  for (const json::value& model : models) {
    if (!model.is_object()) continue;
    std::string owner = lower(string_at(model.get_object(), "owned_by").value_or(""));
    if (owner == "vllm" || owner == "sglang") return owner;
    if (owner == "llamacpp" || owner == "llama.cpp") return "llama.cpp";
  }
  if (product.find("llama.cpp") != std::string::npos) return "llama.cpp";
  if (product.find("vllm") != std::string::npos) return "vllm";
  if (product.find("sglang") != std::string::npos) return "sglang";
  bool authors = std::ranges::all_of(
      models, [](const json::value& m) { return m.is_object() && owner_is_author(m.get_object()); });
  bool echoes = !http::header(headers, "x-request-id").empty();
  if (product.find("uvicorn") != std::string::npos && authors && (echoes || !models.empty()))
    return "transformers";
  return {};
}

// An adapter has the context of its base model, which vLLM does not repeat.
void inherit_context(std::vector<ListedModel>& models) {
  for (ListedModel& model : models) {
    if (model.info.max_model_len || model.parent.empty()) continue;
    const ListedModel* base = nullptr;
    std::size_t bases = 0;
    for (const ListedModel& other : models) {
      if (!other.info.max_model_len || !other.parent.empty()) continue;
      ++bases;
      if (bases == 1 || other.info.name == model.parent) base = &other;
    }
    if (base && (bases == 1 || base->info.name == model.parent))
      model.info.max_model_len = base->info.max_model_len;
  }
}

// "a, b (adapter of a)"; limited to the first models.
std::string model_names(const Listing& listing) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, listing.models.size()); ++i) {
    const ListedModel& model = listing.models[i];
    if (i > 0) text += ", ";
    text += model.info.name;
    if (!model.parent.empty()) text += fmt::format(" (adapter of {})", model.parent);
  }
  if (listing.models.size() > most) text += fmt::format(", and {} more", listing.models.size() - most);
  return text;
}

}  // namespace

Result<Listing> read_listing(const json::value& body, const http::Headers& headers) {
  const json::array* models = list_in(body);
  if (!models) return fail("no list of models");
  Listing listing;
  listing.server = server_of(*models, headers);
  for (const json::value& value : *models) {
    if (!value.is_object()) continue;
    const json::object& model = value.get_object();
    ListedModel listed;
    listed.info.name = to_plain_text(id_of(model));
    if (listed.info.name.empty()) continue;
    listed.info.max_model_len = context_of(model);
    listed.info.server = listing.server;
    listed.parent = to_plain_text(string_at(model, "parent").value_or(""));
    listing.models.push_back(std::move(listed));
  }
  inherit_context(listing.models);
  return listing;
}

Result<ModelInfo> choose_model(const Listing& listing, const std::string& name) {
  if (name.empty()) {
    if (listing.models.size() == 1) return listing.models.front().info;
    if (listing.models.empty())
      return fail(fmt::format("{} does not list its models", listing.base_url),
                  "name the model with --model");
    return fail(
        fmt::format("{} has {} models: {}", listing.base_url, listing.models.size(), model_names(listing)),
        "choose a model with --model");
  }
  for (const ListedModel& model : listing.models)
    if (model.info.name == name) return model.info;
  if (listing.models.empty() || listing.server == "transformers")
    return ModelInfo{.name = name, .max_model_len = {}, .server = listing.server};
  return fail(fmt::format("{} has no model \"{}\", but {}", listing.base_url, name, model_names(listing)),
              "choose one of these with --model");
}

namespace {

using namespace std::chrono_literals;

constexpr auto probe_timeout = 30s;

// The server responds, but does not list models at this path.
bool is_unknown_path(int status) {
  return status == 404 || status == 405 || status == 501;
}

std::unexpected<ListingFailure> lasting(Error error) {
  return std::unexpected(ListingFailure{std::move(error)});
}

std::unexpected<ListingFailure> unreachable(const std::string& url, const http::Failure& failure) {
  std::string remedy = failure.remedy;
  if (remedy.empty()) remedy = "start the model server, or name another with --vllm-url";
  return lasting({fmt::format("cannot reach the model server at {}: {}", url, failure.what), remedy});
}

std::unexpected<ListingFailure> refused(const std::string& url, int status, std::string_view body) {
  ServerError error = read_error(status, body);
  std::string remedy;
  if (status == 401 || status == 403) remedy = "set OPENAI_API_KEY to a key that this server accepts";
  bool busy = trouble_of(error).overloaded;
  if (busy)
    remedy = status == 503 ? "the server may still be loading its model: try again in a while"
                           : "the server limits requests: try again in a while";
  return std::unexpected(
      ListingFailure{{fmt::format("{} answered {}: {}", url, status, error.message), remedy}, busy});
}

Result<Listing> listing_of(const std::string& url, const http::Response& response) {
  auto body = parse_json(to_utf8(response.body));
  auto listing = body ? read_listing(*body, response.headers) : fail("not JSON");
  if (!listing)
    return fail(fmt::format("{} answered without a list of models", url),
                "check that this is the address of an OpenAI-compatible server");
  return listing;
}

}  // namespace

std::string without_key(std::string text, const ServerOptions& options) {
  std::string_view key = trim(options.api_key);
  if (key.size() < 4) return text;
  constexpr std::string_view shown = "[key]";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + shown.size()))
    text.replace(at, key.size(), shown);
  return text;
}

Result<http::Headers> common_headers(const ServerOptions& options) {
  http::Headers headers{{"Accept", "application/json"}};
  std::string key(trim(options.api_key));
  if (key.empty()) return headers;
  bool plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 127; });
  if (!plain) return fail("the API key contains a blank or a non-ASCII character", "correct OPENAI_API_KEY");
  headers.push_back({"Authorization", "Bearer " + key});
  return headers;
}

async::Task<std::expected<Listing, ListingFailure>> list_models(http::Client& client,
                                                                const ServerOptions& options,
                                                                async::Stop& stop) {
  auto bases = base_urls(options.base_url);
  if (!bases) co_return lasting(bases.error());
  auto headers = common_headers(options);
  if (!headers) co_return lasting(headers.error());
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
    if (!listing) co_return lasting(listing.error());
    listing->base_url = base;
    co_return std::move(*listing);
  }
  co_return unknown;
}

async::Task<Result<Probe>> probe(http::Client& client, const ServerOptions& options, async::Stop& stop) {
  auto listing = co_await list_models(client, options, stop);
  if (!listing) co_return std::unexpected<Error>(listing.error());
  Probe found;
  found.server = listing->server;
  for (const ListedModel& model : listing->models) found.models.push_back(model.info);
  co_return found;
}

}  // namespace kw::llm
