#include "llm/answer.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "base/text.h"
#include "llm/reasoning.h"
#include "schema/json.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

std::optional<std::int64_t> count_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_number()) return {};
  boost::system::error_code inexact;
  auto number = value->to_number<std::int64_t>(inexact);
  if (inexact || number < 0) return {};
  return number;
}

// The field, unless it is absent or null; an error where it is something else.
Result<const json::object*> object_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || value->is_null()) return nullptr;
  if (!value->is_object()) return fail(fmt::format("`{}` is not an object", key));
  return &value->get_object();
}

}  // namespace

Result<> AnswerParts::add_chunk(const json::object& chunk) {
  add_usage(chunk);
  return add_choices(chunk, "delta", false);
}

Result<> AnswerParts::add_whole(const json::object& answer) {
  add_usage(answer);
  return add_choices(answer, "message", true);
}

// We ask for one choice, so the first is ours.
Result<> AnswerParts::add_choices(const json::object& object, std::string_view message_key, bool needed) {
  const json::value* choices = object.if_contains("choices");
  if (!choices || choices->is_null()) {
    if (needed) return fail("the answer has no `choices`");
    return {};
  }
  if (!choices->is_array()) return fail("`choices` is not a list");
  if (choices->get_array().empty()) {
    if (needed) return fail("`choices` is empty");
    return {};
  }
  const json::value& first = choices->get_array().front();
  if (!first.is_object()) return fail("a choice is not an object");
  const json::object& choice = first.get_object();
  if (auto reason = string_at(choice, "finish_reason"); reason && !reason->empty()) finish_reason_ = *reason;
  auto message = object_at(choice, message_key);
  if (!message) return std::unexpected(message.error());
  if (*message) return add_message(**message);
  if (needed) return fail("a choice has no `message`");
  return {};
}

Result<> AnswerParts::add_message(const json::object& message) {
  auto said = said_in(message);
  if (!said) return std::unexpected(said.error());
  content_ += said->content;
  reasoning_ += said->reasoning;
  refusal_ += string_at(message, "refusal").value_or("");
  return {};
}

// Some servers count in every chunk: the last count stands.
void AnswerParts::add_usage(const json::object& object) {
  if (auto model = string_at(object, "model"); model && !model->empty()) model_ = *model;
  const json::value* value = object.if_contains("usage");
  if (!value || !value->is_object()) return;
  const json::object& usage = value->get_object();
  if (auto tokens = count_at(usage, "prompt_tokens")) usage_.prompt_tokens = tokens;
  if (auto tokens = count_at(usage, "completion_tokens")) usage_.completion_tokens = tokens;
  if (auto tokens = count_at(usage, "reasoning_tokens")) usage_.reasoning_tokens = tokens;
  const json::value* details = usage.if_contains("completion_tokens_details");
  if (details && details->is_object())
    if (auto tokens = count_at(details->get_object(), "reasoning_tokens")) usage_.reasoning_tokens = tokens;
}

ChatAnswer AnswerParts::answer() const {
  Said said{to_utf8(content_), to_utf8(reasoning_)};
  split_think(said, finish_reason_ != "length");
  ChatAnswer answer;
  answer.content = std::move(said.content);
  answer.reasoning = std::move(said.reasoning);
  answer.usage = usage_;
  answer.model = to_plain_text(model_);
  answer.finish_reason = to_plain_text(finish_reason_);
  if (!refusal_.empty()) {
    if (answer.content.empty()) answer.content = to_utf8(refusal_);
    answer.finish_reason = "content_filter";
  }
  return answer;
}

}  // namespace kw::llm
