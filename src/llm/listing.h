// What /v1/models says: which models there are, how long their context is, and whose server it is.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "llm/chat.h"

namespace kw::llm {

struct ListedModel {
  ModelInfo info;
  std::string parent;  // of an adapter: the model that it adapts
};

struct Listing {
  std::string base_url;             // under which it was found; what follows is "/chat/completions"
  std::vector<ListedModel> models;  // none where the server does not say
  std::string server;               // as in ModelInfo
};

// Of the body's JSON and the headers that came with it. An error where it is no list of models.
Result<Listing> read_listing(const boost::json::value& body, const http::Headers& headers);

// The one that was named, or the only one. What a server does not list is taken on trust where it lists none,
// or only what it has at hand (transformers).
Result<ModelInfo> choose_model(const Listing& listing, const std::string& name);

}  // namespace kw::llm
