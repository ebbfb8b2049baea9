#include <algorithm>

#include "base/text.h"
#include "harvest/cuda_function.h"
#include "harvest/cuda_parse.h"
#include "harvest/text_lines.h"

namespace kw::harvest {
namespace {

constexpr std::size_t longest_caller = 16 * 1024;
constexpr std::size_t longest_argument = 2 * 1024;
constexpr std::size_t most_launches_a_file = 2'000;

std::string callee_of(Node function) {
  if (function.is("template_function")) function = function.field("name");
  for (int depth = 0; depth < 8 && function.is("qualified_identifier"); ++depth)
    function = function.field("name");
  if (function.is("template_function")) function = function.field("name");
  return function.is("identifier") ? std::string(function.text()) : std::string{};
}

// As much of the function as leads to the launch.
std::string caller_text(Node caller, Node launch, std::string_view code) {
  corpus::Span span{caller.begin(), caller.end()};
  if (span.end - span.begin > longest_caller) {
    span.end = std::min({line_end(code, launch.end()), span.end, launch.end() + longest_caller / 4});
    if (span.end - span.begin > longest_caller)
      span.begin = std::min(line_end(code, span.end - longest_caller), span.end);
  }
  return dedented(code, span);
}

void add(Node call, Node grid, Node caller, ParsedFile& file) {
  PendingLaunch pending;
  pending.callee = callee_of(call.field("function"));
  if (pending.callee.empty() || file.launches.size() >= most_launches_a_file) return;
  std::string_view brackets = trim(grid.text());
  if (brackets.starts_with("<<<") && brackets.ends_with(">>>"))
    brackets = trim(brackets.substr(3, brackets.size() - 6));
  pending.launch.grid = shorten(brackets, longest_argument);
  for (Node argument : call.field("arguments").named_children())
    if (!argument.is("comment"))
      pending.launch.arguments.push_back({{}, shorten(argument.text(), longest_argument)});
  pending.span = {call.begin(), call.end()};
  if (!caller.is_null()) {
    pending.launch.caller = cuda_function_name(caller);
    pending.launch.caller_text = caller_text(caller, call, file.source.bytes);
  }
  file.launches.push_back(std::move(pending));
}

}  // namespace

void find_cuda_launches(const syntax::Tree& tree, ParsedFile& file) {
  if (file.source.bytes.find("<<<") == std::string::npos) return;
  Node none{TSNode{}, {}};
  Node caller = none;
  Walk walk(tree.root(), file.source.bytes);
  do {
    Node node = walk.node();
    if (!caller.is_null() && caller.end() <= node.begin()) caller = none;
    if (node.is("function_definition") && caller.is_null()) caller = node;
    if (!node.is("call_expression")) continue;
    for (Node part : node.named_children())
      if (part.is("kernel_call_syntax")) add(node, part, caller, file);
  } while (walk.next());
}

}  // namespace kw::harvest
