#include "llm/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/ascii.h"
#include "base/text.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

using Limit = Dialect::Limit;

std::string_view name_of(Limit limit) {
  return limit == Limit::max_tokens ? "max_tokens" : "max_completion_tokens";
}

Limit other(Limit limit) {
  return limit == Limit::max_tokens ? Limit::max_completion_tokens : Limit::max_tokens;
}

// Not "max_tokens" in "xmax_tokens2".
bool names(std::string_view text, std::string_view field) {
  for (std::size_t at = text.find(field); at != std::string_view::npos; at = text.find(field, at + 1)) {
    std::size_t end = at + field.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

bool rejects(std::string_view text) {
  constexpr std::string_view words[] = {"not support", "unsupported",   "unknown",      "unrecogni",
                                        "unexpected",  "extra input",   "extra_forbid", "not permitted",
                                        "not allowed", "invalid",       "instead",      "additional pr",
                                        "no such",     "cannot be used"};
  return std::ranges::any_of(words,
                             [&](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

void change_limit(Dialect& dialect, Limit sent) {
  if (dialect.limit != sent) return;  // another request has changed it already
  dialect.limit = dialect.other_limit_tried ? Limit::none : other(sent);
  dialect.other_limit_tried = true;
}

json::array messages_json(const std::vector<Message>& messages) {
  json::array array;
  for (const Message& message : messages)
    array.push_back(json::object{{"role", message.role}, {"content", to_utf8(message.content)}});
  return array;
}

}  // namespace

Dialect dialect_of(std::string_view server) {
  Dialect dialect;
  if (server == "sglang" || server == "llama.cpp" || server == "transformers")
    dialect.limit = Limit::max_tokens;
  if (server == "transformers") dialect.stream_options = false;  // it counts without being asked
  return dialect;
}

bool adapt(Dialect& dialect, const Dialect& sent, const ServerError& error) {
  if (error.status != 400 && error.status != 422) return false;
  std::string text = lower(error.message);
  if (!rejects(text) && error.code.find("unsupported") == std::string::npos) return false;
  auto named = [&](std::string_view field) { return error.param == field || names(text, field); };
  bool changed = false;
  if (sent.stream_options && named("stream_options")) {
    dialect.stream_options = false;
    changed = true;
  }
  if (sent.seed && named("seed")) {
    dialect.seed = false;
    changed = true;
  }
  if (sent.limit != Limit::none && named(name_of(sent.limit))) {
    change_limit(dialect, sent.limit);
    changed = true;
  }
  return changed;
}

std::string request_body(const ModelInfo& model, const ChatRequest& request, const Dialect& dialect,
                         std::optional<std::uint64_t> max_tokens, bool stream) {
  const Sampling& sampling = request.sampling;
  json::object body{{"model", model.name}, {"messages", messages_json(request.messages)}, {"stream", stream}};
  if (stream && dialect.stream_options) body["stream_options"] = json::object{{"include_usage", true}};
  if (max_tokens && dialect.limit != Limit::none) body[name_of(dialect.limit)] = *max_tokens;
  if (sampling.temperature) body["temperature"] = *sampling.temperature;
  if (sampling.top_p) body["top_p"] = *sampling.top_p;
  if (sampling.seed && dialect.seed) body["seed"] = seed_of(*sampling.seed, request.id);
  if (!sampling.reasoning_effort.empty()) body["reasoning_effort"] = sampling.reasoning_effort;
  if (!sampling.chat_template_kwargs.empty()) body["chat_template_kwargs"] = sampling.chat_template_kwargs;
  return json::serialize(body);
}

std::int64_t seed_of(std::int64_t run_seed, std::string_view request_id) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a: the same on every machine, for ever
  for (char c : request_id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash ^= hash >> 32;
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(run_seed) + hash) & 0x7FFFFFFFU);
}

std::string request_id_header(std::string_view id, std::size_t attempt) {
  constexpr std::size_t max_bytes = 200;
  std::string value(id.size() > max_bytes ? id.substr(id.size() - max_bytes) : id);
  std::ranges::replace_if(
      value,
      [](char c) { return !is_word(c) && std::string_view("/.:-~?+@").find(c) == std::string_view::npos; },
      '_');
  return attempt > 1 ? fmt::format("{}~{}", value, attempt) : value;
}

}  // namespace kw::llm
