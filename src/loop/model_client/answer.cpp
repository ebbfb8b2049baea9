#include "loop/model_client/answer.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "base/core/json.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

std::string_view text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

// The text of a string, of an object with a text, or of a list of these.
std::string joined(const json::value& value) {
  if (const auto* text = value.if_string()) return {text->data(), text->size()};
  std::string all;
  if (const auto* object = value.if_object())
    for (std::string_view key : {"text", "summary", "thinking", "content"}) {
      if (const json::value* part = object->if_contains(key)) all = joined(*part);
      if (!all.empty()) return all;
    }
  if (const auto* list = value.if_array())
    for (const json::value& part : *list) all += joined(part);
  return all;
}

bool is_thought(std::string_view type) {
  return type.starts_with("reasoning") || type.starts_with("thinking");
}

Result<> add_part(const json::value& value, Said& said) {
  if (value.is_string()) {
    said.content += joined(value);
    return {};
  }
  if (!value.is_object()) return fail("a part of `content` is neither text nor an object");
  const json::object& part = value.get_object();
  if (is_thought(text_in(part, "type")))
    said.reasoning += joined(value);
  else
    said.content += text_in(part, "text");  // empty for other parts, such as images
  return {};
}

Result<> add_content(const json::object& message, Said& said) {
  const json::value* content = message.if_contains("content");
  if (!content || content->is_null()) return {};
  if (content->is_string()) {
    said.content = joined(*content);
    return {};
  }
  if (!content->is_array()) return fail("`content` is neither text nor a list of parts");
  for (const json::value& part : content->get_array())
    if (auto added = add_part(part, said); !added) return added;
  return {};
}

}  // namespace

Result<Said> said_in(const json::object& message) {
  Said said;
  if (auto added = add_content(message, said); !added) return std::unexpected(added.error());
  for (std::string_view key : {"reasoning_content", "reasoning", "reasoning_details"}) {
    const json::value* value = message.if_contains(key);
    if (!value || value->is_null()) continue;
    std::string text = joined(*value);
    if (text.empty()) continue;
    said.reasoning += text;
    break;
  }
  return said;
}

void split_think(Said& said, bool ended) {
  auto parted = part_thought(said.content, ended, !said.reasoning.empty());
  if (!parted) return;
  if (!said.reasoning.empty() && !parted->thought.empty()) said.reasoning += "\n";
  said.reasoning += parted->thought;
  said.content = std::move(parted->answer);
}

namespace json = boost::json;
namespace {

// The object in the field; null if it is absent or null; an error for another type.
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

// The request asks for one choice, so the first choice is the answer.
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
  // A choice of /completions.
  if (auto text = string_at(choice, "text")) {
    content_ += *text;
    return {};
  }
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

// Some servers send counts in every chunk: the last ones are valid.
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
