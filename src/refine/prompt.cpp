#include "refine/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "schema/json.h"

namespace kw::refine {
namespace {

// Longer than any run of backticks in the text.
std::string fence_for(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(3, longest + 1), '`');
}

// "- x: float32 [64, 250]", one line an input; the text itself where it is not of the form we know.
std::string inputs_of(std::string_view shapes) {
  auto parsed = parse_json(shapes);
  if (!parsed || !parsed->is_object()) return std::string(shapes) + "\n";
  std::string lines;
  for (const auto& [name, value] : parsed->get_object()) {
    if (!value.is_object()) return std::string(shapes) + "\n";
    const auto& input = value.get_object();
    const boost::json::value* shape = input.if_contains("shape");
    lines +=
        fmt::format("- {}: {} {}\n", std::string_view(name), string_at(input, "dtype").value_or("float32"),
                    shape != nullptr ? boost::json::serialize(*shape) : "[]");
  }
  return lines;
}

}  // namespace

std::string_view entry_name(PromptStyle style) {
  return style == PromptStyle::wrapper ? "triton_kernel_wrapper" : "ModelNew";
}

std::string user_turn(const Task& task, PromptStyle style) {
  std::string fence = fence_for(task.reference_code);
  std::string text = "The reference:\n\n" + fence + "python\n" + task.reference_code;
  if (!text.ends_with('\n')) text += '\n';
  text += fence + "\n";
  if (!task.entry_point.empty()) text += fmt::format("\nIts entry point is `{}`.\n", task.entry_point);
  if (!task.input_shapes.empty())
    text += "\nIt is called with these inputs:\n" + inputs_of(task.input_shapes);
  text +=
      fmt::format("\nWrite the Triton module that replaces it, with `{}`, between <triton> and </triton>.\n",
                  entry_name(style));
  return text;
}

std::vector<Message> opening_messages(const Task& task, const Settings& settings) {
  std::vector<Message> messages;
  if (!settings.system_prompt.empty()) messages.push_back({"system", settings.system_prompt});
  messages.push_back({"user", user_turn(task, settings.style)});
  return messages;
}

}  // namespace kw::refine
