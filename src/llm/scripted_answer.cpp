#include "llm/scripted_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

// There is no tokeniser here: four bytes are counted as a token.
std::int64_t tokens_of(std::string_view text) {
  return static_cast<std::int64_t>((text.size() + 3) / 4);
}

json::object usage_json(const Turn& turn, const std::vector<Message>& messages) {
  std::int64_t prompt = 0;
  for (const Message& message : messages) prompt += tokens_of(message.content);
  std::int64_t reasoning = tokens_of(turn.reasoning);
  std::int64_t completion = tokens_of(turn.completion) + reasoning;
  return {{"prompt_tokens", prompt},
          {"completion_tokens", completion},
          {"total_tokens", prompt + completion},
          {"completion_tokens_details", {{"reasoning_tokens", reasoning}}}};
}

std::string finish_reason(const Turn& turn) {
  return turn.finish_reason.empty() ? "stop" : turn.finish_reason;
}

json::object head(std::string_view object) {
  return {{"id", "chatcmpl-scripted"}, {"object", object}, {"created", 0}, {"model", scripted_name}};
}

std::string event(const json::object& chunk) {
  return fmt::format("data: {}\n\n", json::serialize(chunk));
}

std::string choice_event(json::object delta, json::value finish) {
  json::object chunk = head("chat.completion.chunk");
  chunk["choices"] = json::array{
      json::object{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}}};
  return event(chunk);
}

void add_pieces(std::vector<std::string>& events, std::string_view field, const std::string& given,
                std::size_t piece_bytes) {
  std::string text = to_utf8(given);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(at + std::max<std::size_t>(piece_bytes, 1), text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    events.push_back(choice_event({{field, text.substr(at, end - at)}}, nullptr));
    at = end;
  }
}

}  // namespace

std::string whole_answer(const Turn& turn, const std::vector<Message>& messages) {
  json::object message{{"role", "assistant"}, {"content", to_utf8(turn.completion)}};
  if (!turn.reasoning.empty()) message["reasoning_content"] = to_utf8(turn.reasoning);
  json::object answer = head("chat.completion");
  answer["choices"] = json::array{
      json::object{{"index", 0}, {"message", std::move(message)}, {"finish_reason", finish_reason(turn)}}};
  answer["usage"] = usage_json(turn, messages);
  return json::serialize(answer);
}

std::vector<std::string> streamed_answer(const Turn& turn, const std::vector<Message>& messages,
                                         bool with_usage, std::size_t piece_bytes) {
  std::vector<std::string> events{choice_event({{"role", "assistant"}, {"content", ""}}, nullptr)};
  add_pieces(events, "reasoning_content", turn.reasoning, piece_bytes);
  add_pieces(events, "content", turn.completion, piece_bytes);
  events.push_back(choice_event({}, json::value(finish_reason(turn))));
  if (with_usage) {
    json::object last = head("chat.completion.chunk");
    last["choices"] = json::array();
    last["usage"] = usage_json(turn, messages);
    events.push_back(event(last));
  }
  events.emplace_back("data: [DONE]\n\n");
  return events;
}

std::string models_answer() {
  json::object model{
      {"id", scripted_name}, {"object", "model"}, {"created", 0}, {"owned_by", "kernelwright"}};
  return json::serialize(json::object{{"object", "list"}, {"data", json::array{std::move(model)}}});
}

std::string error_answer(std::string_view message, std::string_view type, int status) {
  return json::serialize(json::object{
      {"error", {{"message", to_utf8(message)}, {"type", type}, {"param", nullptr}, {"code", status}}}});
}

}  // namespace kw::llm
