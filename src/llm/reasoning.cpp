#include "llm/reasoning.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "extraction/thought.h"

namespace kw::llm {
namespace json = boost::json;
namespace {

std::string_view text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (!value || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

// Text, a list of texts, or a list of objects with one.
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
    said.content += text_in(part, "text");  // parts of other kinds, such as images, have none
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

}  // namespace kw::llm
