#include "llm/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/ascii.h"
#include "base/text.h"
#include "schema/json.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

// What the server runs with comes before what the model was trained for.
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

// transformers names the part of an id before its slash as the owner.
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

// An adapter has the context of its base; vLLM does not repeat it.
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

// "a, b (adapter of a)", the first few.
std::string names(const Listing& listing) {
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
      return fail(fmt::format("{} does not say which models it has", listing.base_url),
                  "name one with --model");
    return fail(fmt::format("{} has {} models: {}", listing.base_url, listing.models.size(), names(listing)),
                "choose one with --model");
  }
  for (const ListedModel& model : listing.models)
    if (model.info.name == name) return model.info;
  if (listing.models.empty() || listing.server == "transformers")
    return ModelInfo{.name = name, .max_model_len = {}, .server = listing.server};
  return fail(fmt::format("{} has no model \"{}\", but {}", listing.base_url, name, names(listing)),
              "choose one of these with --model");
}

}  // namespace kw::llm
