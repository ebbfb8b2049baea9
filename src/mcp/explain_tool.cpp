#include "mcp/explain_tool.h"

#include <boost/json/array.hpp>

#include "base/core/display.h"
#include "base/core/json.h"
#include "mcp/arguments.h"
#include "verify/explain/glossary.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;

const Style plain{.colours = false, .width = 100};

class ExplainTool : public Tool {
 public:
  ExplainTool()
      : arguments_("explain", {{.name = "word",
                                .description = "a word of a verdict, such as out_of_bounds, library_only or "
                                               "interpreter [a list of all words]"}}) {
    json::object entry{{"type", "object"},
                       {"properties",
                        {{"kind", {{"type", "string"}}},
                         {"word", {{"type", "string"}}},
                         {"meaning", {{"type", "string"}}},
                         {"advice", {{"type", "string"}}}}}};
    description_ = {
        .name = "explain",
        .title = "Explain a word of a verdict",
        .text =
            "Explains a status, an error class, a reason why a right result does not count, "
            "or another word of a verdict: what it means and what helps.",
        .input_schema = arguments_.schema(),
        .output_schema = {{"type", "object"},
                          {"properties", {{"entries", {{"type", "array"}, {"items", std::move(entry)}}}}},
                          {"required", json::array{"entries"}}}};
  }

  const Description& description() const override { return description_; }

  async::Task<std::optional<ToolAnswer>> call(json::object given, Call /*call*/) override {
    auto arguments = arguments_.read(given);
    if (!arguments) co_return tool_error(arguments.error());
    auto word = string_at(*arguments, "word");
    auto entries =
        word ? explain::entries_of(*word) : Result<std::vector<explain::Entry>>(explain::glossary());
    if (!entries) co_return tool_error(entries.error());
    ToolAnswer answer;
    json::array listed;
    for (const explain::Entry& entry : *entries) {
      if (word) answer.text += to_terminal(entry, plain);
      listed.push_back(json::object{{"kind", to_string(entry.kind)},
                                    {"word", entry.word},
                                    {"meaning", entry.what},
                                    {"advice", entry.advice}});
    }
    if (!word) answer.text = explain::word_list(plain);
    answer.structured["entries"] = std::move(listed);
    co_return answer;
  }

 private:
  Arguments arguments_;
  Description description_;
};

}  // namespace

std::unique_ptr<Tool> explain_tool() {
  return std::make_unique<ExplainTool>();
}

}  // namespace kw::mcp
