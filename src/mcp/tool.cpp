#include "mcp/tool.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "base/core/display.h"
#include "base/core/text.h"

namespace kw::mcp {

namespace json = boost::json;

ToolAnswer tool_error(const Error& error) {
  std::string text = visible(shorten(error.what, most_answer_bytes));
  if (!error.remedy.empty()) text += "\nhelp: " + visible(shorten(error.remedy, most_answer_bytes));
  return {std::move(text), {}, true};
}

// No tool changes anything but the list of its session's verdicts, and none reaches beyond this machine or
// its evaluator.
json::object to_json(const Tool::Description& description) {
  json::object annotations{{"title", description.title},
                           {"readOnlyHint", true},
                           {"destructiveHint", false},
                           {"idempotentHint", description.is_idempotent},
                           {"openWorldHint", false}};
  return {{"name", description.name},
          {"title", description.title},
          {"description", description.text},
          {"inputSchema", description.input_schema},
          {"outputSchema", description.output_schema},
          {"annotations", std::move(annotations)}};
}

json::object to_json(ToolAnswer answer) {
  json::object text{{"type", "text"}, {"text", shorten(answer.text, most_answer_bytes)}};
  json::object result{{"content", json::array{std::move(text)}}, {"isError", answer.is_error}};
  if (!answer.is_error) result["structuredContent"] = std::move(answer.structured);
  return result;
}

}  // namespace kw::mcp
