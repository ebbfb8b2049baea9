#include "scoring/row_forms.h"

#include <boost/json/array.hpp>
#include <optional>

#include "base/text.h"
#include "schema/json.h"
#include "score/held_out.h"
#include "table/rows_columns.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

using Change = std::string (*)(std::string_view);

std::string as_it_is(std::string_view text) {
  return std::string(text);
}

std::string with_lf(std::string_view text) {
  std::string changed;
  changed.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') changed += text[i];
  return changed;
}

std::string trimmed(std::string_view text) {
  return std::string(trim(text));
}

// What continues a line keeps its indentation.
std::string trimmed_behind(std::string_view text) {
  std::size_t last = text.find_last_not_of(" \t\r\n\v\f");
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

constexpr Change changes[] = {
    as_it_is,
    with_lf,
    trimmed,
    trimmed_behind,
    [](std::string_view text) { return trimmed(with_lf(text)); },
    [](std::string_view text) { return trimmed_behind(with_lf(text)); },
};

std::set<std::string> variants(std::string_view text) {
  std::set<std::string> all;
  for (Change change : changes) all.insert(change(text));
  all.erase("");
  return all;
}

// A list of messages, or one as JSON text, as CSV and Parquet have it.
std::optional<json::array> messages_in(const json::value& value) {
  if (const json::array* list = value.if_array()) return *list;
  const json::string* text = value.if_string();
  if (!text || !trim(*text).starts_with('[')) return {};
  auto parsed = parse_json(*text);
  if (!parsed || !parsed->is_array() || parsed->get_array().empty()) return {};
  for (const json::value& each : parsed->get_array())
    if (!each.is_object() || !each.get_object().contains("role")) return {};
  return std::move(parsed->get_array());
}

json::object message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

json::array changed(const json::array& messages, Change change) {
  json::array all = messages;
  for (json::value& each : all) {
    json::object* object = each.if_object();
    json::value* content = object ? object->if_contains("content") : nullptr;
    // Training takes what only calls tools as a message with an empty content.
    if (object && object->contains("tool_calls") && (!content || content->is_null()))
      (*object)["content"] = "";
    else if (content && content->is_string())
      *content = change(content->get_string());
  }
  return all;
}

// A prompt or a completion in its two forms.
struct Side {
  std::optional<json::array> messages;
  std::string text;
};

std::optional<Side> side_of(const json::value* value) {
  if (!value) return {};
  Side side{messages_in(*value), ""};
  if (auto text = table::text_of(side.messages ? json::value(*side.messages) : *value)) side.text = *text;
  if (side.text.empty() && (!side.messages || side.messages->empty())) return {};
  return side;
}

class Forms {
 public:
  void add_pair(const Side& asked, const Side& answered) {
    for (const std::string& prompt : variants(asked.text))
      for (const std::string& completion : variants(answered.text)) add_texts(prompt, completion);
    if (asked.messages || answered.messages) {
      json::array all = messages_of(asked, "user");
      for (json::value& each : messages_of(answered, "assistant")) all.push_back(std::move(each));
      add_messages(all);
    }
  }

  void add_messages(const json::array& messages) {
    for (Change change : changes) hashes_.insert(score::messages_sha256(changed(messages, change)));
  }

  void add_text(std::string_view text) {
    for (const std::string& variant : variants(text)) hashes_.insert(score::text_sha256(variant));
  }

  std::set<std::string> take() { return std::move(hashes_); }

 private:
  void add_texts(const std::string& prompt, const std::string& completion) {
    hashes_.insert(score::row_sha256(prompt, completion));
    hashes_.insert(score::text_sha256(prompt + completion));
    hashes_.insert(
        score::messages_sha256(json::array{message("user", prompt), message("assistant", completion)}));
  }

  static json::array messages_of(const Side& side, std::string_view role) {
    return side.messages ? *side.messages : json::array{message(role, side.text)};
  }

  std::set<std::string> hashes_;
};

bool is_of_assistant(const json::value& value) {
  const json::object* object = value.if_object();
  return object && string_at(*object, "role") == "assistant";
}

// A conversation as it stands, and as its last answer to what was said before.
void add_conversation(const json::array& messages, Forms& forms) {
  if (messages.empty()) return;
  forms.add_messages(messages);
  if (messages.size() < 2 || !is_of_assistant(messages.back())) return;
  json::value before = json::array(messages.begin(), messages.end() - 1);
  json::value answer = json::array{messages.back()};
  auto asked = side_of(&before);
  auto answered = side_of(&answer);
  if (asked && answered) forms.add_pair(*asked, *answered);
}

}  // namespace

std::set<std::string> row_forms(const json::object& row, const std::vector<std::string>& prompts,
                                const std::vector<std::string>& completions) {
  Forms forms;
  std::vector<Side> asked;
  for (const std::string& name : prompts)
    if (auto side = side_of(row.if_contains(name))) asked.push_back(std::move(*side));
  if (const json::value* own = row.if_contains("messages"))
    if (auto messages = messages_in(*own)) {
      add_conversation(*messages, forms);
      // The answer may stand in another column.
      if (!messages->empty() && !is_of_assistant(messages->back())) asked.push_back(*side_of(own));
    }
  for (const std::string& name : completions)
    if (auto answered = side_of(row.if_contains(name)))
      for (const Side& prompt : asked) forms.add_pair(prompt, *answered);
  for (const char* name : {"text", "content", "code"})
    if (const json::value* text = row.if_contains(name); text && text->is_string())
      forms.add_text(text->get_string());
  return forms.take();
}

}  // namespace kw::scoring
