#include "loop/model_client/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "base/core/text.h"

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

// Whether the text has the field as a complete word: not "max_tokens" in "xmax_tokens2".
bool mentions(std::string_view text, std::string_view field) {
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
  if (dialect.limit != sent) return;  // a concurrent request has already changed it
  dialect.limit = dialect.other_limit_tried ? Limit::none : other(sent);
  dialect.other_limit_tried = true;
}

json::array messages_json(const std::vector<Message>& messages) {
  json::array array;
  for (const Message& message : messages)
    array.push_back(json::object{{"role", message.role}, {"content", to_utf8(message.content)}});
  return array;
}

void add_continuation(const ModelInfo& model, const Continuation& continuation, json::object& body) {
  body["prompt"] = to_utf8(continuation.prompt);
  body["stop"] = json::array(continuation.stop.begin(), continuation.stop.end());
  // Both remove special tokens from the text before they look for stop words.
  if (model.server == "vllm" || model.server == "sglang") body["skip_special_tokens"] = false;
}

}  // namespace

Dialect dialect_of(std::string_view server) {
  Dialect dialect;
  if (server == "sglang" || server == "llama.cpp" || server == "transformers")
    dialect.limit = Limit::max_tokens;
  if (server == "transformers") dialect.stream_options = false;  // it sends usage without the option
  return dialect;
}

bool adapt(Dialect& dialect, const Dialect& sent, const ServerError& error) {
  if (error.status != 400 && error.status != 422) return false;
  std::string text = lower(error.message);
  if (!rejects(text) && error.code.find("unsupported") == std::string::npos) return false;
  auto named = [&](std::string_view field) { return error.param == field || mentions(text, field); };
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
  json::object body{{"model", model.name}, {"stream", stream}};
  if (request.continuation)
    add_continuation(model, *request.continuation, body);
  else
    body["messages"] = messages_json(request.messages);
  if (stream && dialect.stream_options) body["stream_options"] = json::object{{"include_usage", true}};
  // /completions knows no other name of the limit.
  Limit limit = request.continuation ? Limit::max_tokens : dialect.limit;
  if (max_tokens && dialect.limit != Limit::none) body[name_of(limit)] = *max_tokens;
  if (sampling.temperature) body["temperature"] = *sampling.temperature;
  if (sampling.top_p) body["top_p"] = *sampling.top_p;
  if (sampling.seed && dialect.seed) body["seed"] = seed_of(*sampling.seed, request.id);
  if (request.continuation) return json::serialize(body);
  if (!sampling.reasoning_effort.empty()) body["reasoning_effort"] = sampling.reasoning_effort;
  if (!sampling.chat_template_kwargs.empty()) body["chat_template_kwargs"] = sampling.chat_template_kwargs;
  return json::serialize(body);
}

std::int64_t seed_of(std::int64_t run_seed, std::string_view request_id) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a: equal on every machine and in every version
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

namespace {

// Tokens that a chat template adds to each message, and to the conversation.
constexpr double tokens_a_message = 8;
constexpr double tokens_a_chat = 32;
constexpr double margin = 1.03;  // texts differ in tokens per byte

double bytes_of(const std::vector<Message>& messages) {
  std::size_t bytes = 0;
  for (const Message& message : messages) bytes += message.role.size() + message.content.size();
  return static_cast<double>(bytes);
}

}  // namespace

std::uint64_t TokenEstimate::of(const std::vector<Message>& messages) const {
  double template_tokens = tokens_a_chat + tokens_a_message * static_cast<double>(messages.size());
  return static_cast<std::uint64_t>(
      std::ceil(bytes_of(messages) * tokens_a_byte_ * margin + template_tokens));
}

// Adopts a higher count at once and a lower one slowly: too low an estimate costs a request.
void TokenEstimate::learn(const std::vector<Message>& messages, std::int64_t prompt_tokens) {
  double bytes = bytes_of(messages);
  if (bytes < 64 || prompt_tokens <= 0) return;
  double seen = std::clamp(static_cast<double>(prompt_tokens) / bytes, 0.05, 2.0);
  tokens_a_byte_ = learned_ ? std::max(seen, 0.9 * tokens_a_byte_ + 0.1 * seen) : seen;
  learned_ = true;
}

std::optional<std::uint64_t> answer_tokens(const ModelInfo& model, const Sampling& sampling,
                                           std::uint64_t prompt_tokens) {
  if (!model.max_model_len) return sampling.max_tokens;
  std::uint64_t context = *model.max_model_len;
  std::uint64_t left = context - std::min(context, prompt_tokens);
  left = std::max(left, std::clamp<std::uint64_t>(context / 8, 1, 1024));
  return sampling.max_tokens ? std::min(*sampling.max_tokens, left) : left;
}

}  // namespace kw::llm
