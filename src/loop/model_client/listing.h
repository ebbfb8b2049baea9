// Finds a server's models: base URLs from the user's address, the request of /v1/models, and its content:
// models, context lengths, and the kind of server.
#pragma once

#include <boost/json/value.hpp>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/http/message.h"
#include "loop/model_client/chat.h"
#include "loop/model_client/openai_client.h"

namespace kw::llm {

// "localhost:8000", ".../v1/", ".../v1/chat/completions" → candidate base URLs of /models and
// /chat/completions, the likeliest first: a path that ends in a version is used unchanged, another one is
// also tried with /v1. A user name or password in the URL is an error, since messages contain URLs.
Result<std::vector<std::string>> base_urls(std::string_view given);

// The content of /v1/models: models, context lengths, and the kind of server.
struct ListedModel {
  ModelInfo info;
  std::string parent;  // of an adapter: the model that it adapts
};

struct Listing {
  std::string base_url;             // without "/models" and "/chat/completions"
  std::vector<ListedModel> models;  // empty if the server does not list them
  std::string server;               // as in ModelInfo
};

// Parses the body's JSON and the headers. An error if it is not a list of models.
Result<Listing> read_listing(const boost::json::value& body, const http::Headers& headers);

// The named model, or the only one. A model that is not listed is accepted if the server lists none, or
// lists only loaded models (transformers).
Result<ModelInfo> choose_model(const Listing& listing, const std::string& name);

// Why a server listed no models.
struct ListingFailure : Error {
  bool busy = false;  // the server limits requests or is loading: a later request may succeed
};

// A server without /v1/models yields a listing without models.
async::Task<std::expected<Listing, ListingFailure>> list_models(http::Client& client,
                                                                const ServerOptions& options,
                                                                async::Stop& stop);

// The headers of every request: the key, if there is one. An error if the key cannot be a header value.
Result<http::Headers> common_headers(const ServerOptions& options);

// The text without the key, in case a server repeats it.
std::string without_key(std::string text, const ServerOptions& options);

}  // namespace kw::llm
