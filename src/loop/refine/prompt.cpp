#include "loop/refine/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/json.h"
#include "code/syntax/static_findings.h"

namespace kw::refine {
namespace {

// A fence with more backticks than any run in the text.
std::string fence_for(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(3, longest + 1), '`');
}

// "- x: float32 [64, 250]", one line per input; the text itself if its form is unknown.
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

std::string system_prompt_for(PromptStyle style, bool gradients) {
  std::string text(default_system_prompt(style));
  if (!gradients) return text;
  constexpr std::string_view mark = "{0}";
  std::string_view rest = gradients_prompt();
  for (std::size_t at = rest.find(mark); at != std::string_view::npos; at = rest.find(mark)) {
    text += rest.substr(0, at);
    text += entry_name(style);
    rest.remove_prefix(at + mark.size());
  }
  return text.append(rest);
}

std::string user_turn(const Task& task, PromptStyle style, bool gradients) {
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
  if (gradients)
    text += fmt::format(
        "\nThe gradients of its inputs and parameters are judged too: `{}` applies a "
        "`torch.autograd.Function`, "
        "or `triton_kernel_backward` returns them, called with the cotangents and then the inputs and "
        "weights.\n",
        entry_name(style));
  return text;
}

std::vector<Message> opening_messages(const Task& task, const Settings& settings) {
  std::vector<Message> messages;
  if (!settings.system_prompt.empty()) messages.push_back({"system", settings.system_prompt});
  messages.push_back({"user", user_turn(task, settings.style, settings.gradients)});
  return messages;
}

namespace {

Verdict refused(Stage stage, ErrorClass error_class, std::string error, std::size_t line = 0) {
  Verdict verdict;
  verdict.status = Status::failed;
  verdict.fault = Fault::kernel;
  verdict.stage = stage;
  verdict.error_class = error_class;
  verdict.error = std::move(error);
  verdict.timing.why_null = "the candidate was not timed";
  if (line == 0) return verdict;
  verdict.error_detail.emplace();
  verdict.error_detail->file = "kernel.py";
  verdict.error_detail->line = static_cast<std::int64_t>(line);
  return verdict;
}

std::optional<Verdict> verdict_on(const std::string& code, const StaticReport& report, bool cut_short) {
  if (report.has_error) {
    // Only Python defines a syntax error. The error is certain if two checks agree on unbalanced code.
    if (auto gap = find_unbalanced(code))
      return refused(Stage::parse, ErrorClass::syntax_error,
                     fmt::format("line {}: {}{}", gap->line, gap->what,
                                 cut_short ? "; the answer ended at its length limit" : ""),
                     gap->line);
    return {};
  }
  if (!report.forbidden.empty()) {
    const StaticFinding& first = report.forbidden.front();
    return refused(Stage::static_, ErrorClass::forbidden,
                   fmt::format("line {}: {} is forbidden", first.line, first.what), first.line);
  }
  if (!may_have_entry(report))
    return refused(Stage::static_, ErrorClass::missing_entry,
                   "the code defines neither triton_kernel_wrapper nor ModelNew");
  if (!report.torch_on_values.empty()) {
    const StaticFinding& first = report.torch_on_values.front();
    return refused(Stage::static_, ErrorClass::compile_error,
                   fmt::format("line {}: {}", first.line, first.what), first.line);
  }
  return {};
}

}  // namespace

Precheck check_before(const std::string& code, bool cut_short) {
  if (code.find_first_not_of(" \t\r\n") == std::string::npos)
    return {refused(Stage::parse, ErrorClass::missing_entry,
                    cut_short ? "the answer ended at its length limit before it held any code"
                              : "the answer holds no code"),
            ""};
  StaticReport report = examine(code);
  return {verdict_on(code, report, cut_short), report.jitted.empty() ? "" : report.jitted.front()};
}

}  // namespace kw::refine
