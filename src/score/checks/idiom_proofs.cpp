// What the host and the kernel assert about sizes: divisors, whole dimensions, flags of divisibility.
#include "score/checks/idiom_proofs.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace kw::score {
namespace {

using namespace std::string_view_literals;

Node unwrapped(Node node) {
  while (node.is("parenthesized_expression") && !node.named_children().empty())
    node = node.named_children().front();
  return node;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

bool has_name(Node node) {
  return !identifiers(node).empty();
}

// The right side of `SIZE % DIVISOR`; a size without a name asserts nothing about the inputs.
std::optional<std::string> divisor_of(Node node) {
  node = unwrapped(node);
  if (!node.is("binary_operator") || node.field("operator").text() != "%" || !has_name(node.field("left")))
    return {};
  return std::string(unwrapped(node.field("right")).text());
}

// "==", "!=", … of a comparison of two operands; empty for others.
std::string sign_of(Node comparison) {
  auto operands = comparison.named_children();
  if (!comparison.is("comparison_operator") || operands.size() != 2) return {};
  std::string_view text = comparison.text();
  std::size_t from = operands[0].end() - comparison.begin();
  std::size_t to = operands[1].begin() - comparison.begin();
  std::string sign;
  for (char c : text.substr(from, to - from))
    if (c != ' ' && c != '\n' && c != '\t' && c != '\\') sign += c;
  return sign;
}

// The divisors of a condition that must hold (`wanted`), or whose opposite must hold.
void add_divisors(Node condition, bool wanted, std::set<std::string>& divisors, int depth = 0) {
  constexpr int deepest_condition = 16;
  condition = unwrapped(condition);
  if (depth > deepest_condition || condition.is_null()) return;
  if (condition.is("boolean_operator")) {
    if (condition.field("operator").text() != (wanted ? "and" : "or")) return;
    add_divisors(condition.field("left"), wanted, divisors, depth + 1);
    add_divisors(condition.field("right"), wanted, divisors, depth + 1);
  } else if (condition.is("not_operator")) {
    add_divisors(condition.field("argument"), !wanted, divisors, depth + 1);
  } else if (condition.is("comparison_operator")) {
    auto operands = condition.named_children();
    if (sign_of(condition) != (wanted ? "==" : "!=")) return;
    for (auto [one, other] : {std::pair{0, 1}, std::pair{1, 0}})
      if (operands[static_cast<std::size_t>(other)].text() == "0")
        if (auto divisor = divisor_of(operands[static_cast<std::size_t>(one)])) divisors.insert(*divisor);
  } else if (!wanted) {
    if (auto divisor = divisor_of(condition)) divisors.insert(*divisor);
  }
}

bool always_raises(Node block) {
  auto statements = block.named_children();
  return !statements.empty() && statements.back().is("raise_statement");
}

// Asserting calls. tl.device_assert and tl.assume check nothing in a normal run.
bool is_assertion(std::string_view full) {
  return full == "torch._assert" || full == "torch._check" || full == "triton.language.static_assert";
}

// Of statements that always run: not those inside a branch or a loop.
void add_asserted(Node block, const Aliases& aliases, std::set<std::string>& divisors) {
  for (Node statement : block.named_children()) {
    if (statement.is("return_statement")) return;
    if (statement.is("assert_statement") && !statement.named_children().empty())
      add_divisors(statement.named_children().front(), true, divisors);
    if (statement.is("if_statement") && always_raises(statement.field("consequence")))
      add_divisors(statement.field("condition"), false, divisors);
    if (statement.is("with_statement")) add_asserted(statement.field("body"), aliases, divisors);
    if (!statement.is("expression_statement") || statement.named_children().empty()) continue;
    Node call = statement.named_children().front();
    if (!call.is("call")) continue;
    auto path = syntax::dotted_path(call.field("function"));
    auto arguments = call.field("arguments").named_children();
    if (path && !arguments.empty() && is_assertion(syntax::resolved(aliases, *path)))
      add_divisors(arguments.front(), true, divisors);
  }
}

// Whether an expression is a tensor's whole dimension or number of elements.
bool is_dimension(Node value) {
  value = unwrapped(value);
  if (value.is("subscript")) {
    Node object = value.field("value");
    return object.is("attribute") && object.field("attribute").text() == "shape";
  }
  if (!value.is("call")) return value.is("attribute") && value.field("attribute").text() == "shape";
  Node function = value.field("function");
  if (!function.is("attribute")) return false;
  std::string_view name = function.field("attribute").text();
  return name == "size" || name == "numel" || name == "nelement";
}

bool tests_divisibility(Node value) {
  std::set<std::string> divisors;
  add_divisors(value.is("lambda") ? value.field("body") : value, true, divisors);
  return !divisors.empty();
}

}  // namespace

Proofs::Proofs(Node root, const Aliases& aliases, const HostFacts& host) : aliases_(aliases) {
  for (Node function : host.functions)
    if (function.is("function_definition")) add_asserted(function.field("body"), aliases, divisors_);
  add_asserted(root, aliases, divisors_);
  syntax::walk(root, [this](Node node) {
    if (node.is("assignment")) note_value(node);
    if (node.is("pair"))
      if (auto key = syntax::string_literal(node.field("key"));
          key && tests_divisibility(node.field("value")))
        flags_.insert(*key);
    if (node.is("keyword_argument") && tests_divisibility(node.field("value")))
      flags_.emplace(node.field("name").text());
    return true;
  });
  syntax::walk(root, [this](Node node) {
    if (node.is("keyword_argument") && flags_.contains(std::string(node.field("value").text())))
      flags_.emplace(node.field("name").text());
    return true;
  });
  for (const LaunchSite& launch : host.launched) note_launch(launch);
}

void Proofs::note_value(Node assignment) {
  Node left = assignment.field("left");
  Node right = assignment.field("right");
  if (right.is_null()) return;
  if (left.is("identifier")) {
    std::string name(left.text());
    if (tests_divisibility(right)) flags_.insert(name);
    values_[name].push_back(right);
  } else if (left.is("pattern_list") || left.is("tuple_pattern")) {
    // batch, width = x.shape
    for (Node name : left.named_children())
      if (name.is("identifier")) values_[std::string(name.text())].push_back(right);
  }
}

void Proofs::note_launch(const LaunchSite& launch) {
  for (const KernelFacts* kernel : launch.kernels) {
    std::map<std::string, std::string> given;
    std::size_t place = 0;
    for (Node argument : launch.call.field("arguments").named_children()) {
      if (argument.is("comment") || argument.is("list_splat")) continue;
      if (argument.is("keyword_argument"))
        given[std::string(argument.field("name").text())] = argument.field("value").text();
      else if (place < kernel->parameters.size())
        given[kernel->parameters[place++]] = argument.text();
    }
    launches_[kernel->kernel.name].push_back(std::move(given));
  }
}

bool Proofs::is_flag(const std::string& name) const {
  return flags_.contains(name);
}

// A size is proven that is an asserted divisor, divides one, or is a whole dimension itself.
bool Proofs::is_proven(const std::string& size, const std::set<std::string>& divisors, int depth) const {
  constexpr int deepest_name = 4;
  if (divisors.contains(size)) return true;
  if (auto number = number_of(size); number && *number > 0)
    return *number == 1 || std::ranges::any_of(divisors, [&](const std::string& text) {
      auto divisor = number_of(text);
      if (!divisor)
        if (auto values = values_.find(text); values != values_.end() && values->second.size() == 1)
          divisor = number_of(values->second.front().text());
      return divisor && *divisor > 0 && *divisor % *number == 0;
    });
  auto values = values_.find(size);
  if (values == values_.end() || depth > deepest_name) return false;
  return std::ranges::all_of(values->second, [&](Node value) {
    return is_dimension(value) || is_proven(std::string(value.text()), divisors, depth + 1);
  });
}

bool Proofs::proves(const KernelFacts& kernel, const std::string& size) const {
  std::set<std::string> divisors = divisors_;
  add_asserted(kernel.function.field("body"), aliases_, divisors);
  bool is_parameter = std::ranges::find(kernel.parameters, size) != kernel.parameters.end();
  auto launches = launches_.find(kernel.kernel.name);
  if (!is_parameter || launches == launches_.end()) return is_proven(size, divisors);
  return std::ranges::all_of(launches->second, [&](const auto& given) {
    auto argument = given.find(size);
    // An autotuner gives what no launch gives; then only an assertion by that name counts.
    if (argument == given.end()) return divisors.contains(size);
    return is_proven(argument->second, divisors) || divisors.contains(size) ||
           is_dimension_text(argument->second);
  });
}

bool Proofs::is_dimension_text(const std::string& text) {
  if (text.ends_with(".numel()") || text.ends_with(".nelement()")) return true;
  std::size_t at = std::max(text.rfind(".shape[") + 1, text.rfind(".size(") + 1);
  if (at == 0) return false;
  // Nothing but the index follows, and nothing but names stands before.
  std::string_view index = std::string_view(text).substr(text.find_first_of("[(", at) + 1);
  bool ends = !index.empty() && (index.back() == ']' || index.back() == ')');
  if (ends) index.remove_suffix(1);
  auto is_index = [](char c) { return c == '-' || (c >= '0' && c <= '9'); };
  auto is_name = [](char c) {
    return c == '.' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return ends && std::ranges::all_of(index, is_index) && std::ranges::all_of(text.substr(0, at), is_name);
}

}  // namespace kw::score
