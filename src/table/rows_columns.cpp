#include "table/rows_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <string_view>

#include "base/text.h"

namespace kw::table {
namespace json = boost::json;
namespace {

constexpr std::array<std::string_view, 3> single_columns = {"text", "content", "code"};
constexpr std::size_t columns_shown = 20;

bool has(const std::vector<std::string>& found, std::string_view name) {
  return std::ranges::find(found, name) != found.end();
}

std::string listed(const std::vector<std::string>& found) {
  if (found.empty()) return "none";
  std::vector<std::string> names;
  for (const std::string& name : found)
    if (names.size() < columns_shown) names.push_back(to_plain_text(shorten(name, 60)));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  return found.size() > names.size() ? fmt::format("{} and {} more", text, found.size() - names.size())
                                     : text;
}

// The text of a message: its content, or the texts among the content's parts.
Result<> append_content(const json::value& content, std::string& text) {
  if (const auto* string = content.if_string()) {
    text.append(string->data(), string->size());
    return {};
  }
  const auto* parts = content.if_array();
  if (!parts)
    return fail("a message's content is no text", "content is a string, or a list of parts of type text");
  for (const json::value& part : *parts) {
    const auto* object = part.if_object();
    const json::value* words = object ? object->if_contains("text") : nullptr;
    if (words && words->is_string()) text.append(words->get_string().data(), words->get_string().size());
  }
  return {};
}

}  // namespace

Result<Columns> choose_columns(const std::string& file, const std::vector<std::string>& found,
                               const ReadOptions& options) {
  if (options.single_text)
    for (std::string_view name : single_columns)
      if (has(found, name)) return Columns{"", std::string(name)};
  if (has(found, options.prompt) && has(found, options.completion))
    return Columns{options.prompt, options.completion};
  if (options.single_text)
    return fail(fmt::format("{} has none of the columns text, content, code; it has {}", file, listed(found)),
                "name the column of the text so, or give a file with prompt and completion");
  bool both = !has(found, options.prompt) && !has(found, options.completion);
  std::string missing = both ? fmt::format("columns {} and {}", options.prompt, options.completion)
                        : has(found, options.prompt) ? fmt::format("column {}", options.completion)
                                                     : fmt::format("column {}", options.prompt);
  return fail(fmt::format("{} has no {}; it has {}", file, missing, listed(found)),
              "name its columns with --prompt-column and --completion-column");
}

Result<std::string> text_of(const json::value& value) {
  if (const auto* string = value.if_string()) return std::string(string->data(), string->size());
  const auto* messages = value.if_array();
  if (!messages) return fail("neither text nor a list of messages");
  std::string text;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const auto* object = (*messages)[i].if_object();
    const json::value* content = object ? object->if_contains("content") : nullptr;
    if (!content) return fail("a list, but not of messages", R"(a message is {"role": ..., "content": ...})");
    if (i > 0) text += '\n';
    // What an assistant only calls tools with has no content.
    if (content->is_null()) continue;
    if (auto added = append_content(*content, text); !added) return std::unexpected(added.error());
  }
  return text;
}

}  // namespace kw::table
