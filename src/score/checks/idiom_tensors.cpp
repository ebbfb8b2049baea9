// Tensors among the variables of host code, and operators on them.
#include <fmt/format.h>

#include <array>

#include "score/checks/idiom_parts.h"

namespace kw::score {
namespace {

using namespace std::string_view_literals;

constexpr int most_tensor_rounds = 16;

// Attributes that tensors have and numbers have not.
constexpr std::array tensor_attributes{"shape"sv,         "stride"sv,       "numel"sv,    "is_cuda"sv,
                                       "is_contiguous"sv, "contiguous"sv,   "data_ptr"sv, "new_empty"sv,
                                       "new_zeros"sv,     "element_size"sv, "new_ones"sv};

// Attributes whose values are tensors.
constexpr std::array tensor_members{"T"sv, "mT"sv, "data"sv, "grad"sv};

bool is_arithmetic(Node node) {
  constexpr std::array signs{"+"sv, "-"sv, "*"sv, "/"sv, "//"sv, "**"sv, "%"sv};
  return node.is("binary_operator") && syntax::lists(signs, node.field("operator").text());
}

Node without_brackets(Node node) {
  while (node.is("parenthesized_expression") && !node.named_children().empty())
    node = node.named_children().front();
  return node;
}

void add_annotated(Node function, std::set<std::string>& names) {
  for (Node parameter : function.field("parameters").named_children()) {
    if (!parameter.field("type").text().ends_with("Tensor")) continue;
    Node name = parameter.field("name");
    if (name.is_null()) name = parameter.named_children().front();
    names.emplace(name.text());
  }
}

}  // namespace

Tensors::Tensors(Node function, const Aliases& aliases, std::set<std::string> known, bool is_entry)
    : aliases_(aliases), names_(std::move(known)) {
  add_annotated(function, names_);
  std::vector<Node> assignments;
  syntax::walk(function, [&](Node node) {
    if (node.is("assignment") && !node.field("right").is_null()) assignments.push_back(node);
    if (node.is("attribute") && syntax::lists(tensor_attributes, node.field("attribute").text()))
      if (std::string root = root_of(node.field("object")); !root.empty() && !aliases.contains(root))
        if (node.field("object").is("identifier") || root.starts_with("self.")) names_.insert(root);
    if (is_entry && node.is("return_statement"))
      for (Node value : node.named_children()) {
        value = without_brackets(value);
        if (value.is("identifier")) names_.emplace(value.text());
        results_.insert(value.begin());
      }
    return true;
  });
  settle(assignments);
}

void Tensors::settle(const std::vector<Node>& assignments) {
  for (int round = 0; round < most_tensor_rounds; ++round) {
    std::size_t before = names_.size();
    for (Node assignment : assignments) {
      Node left = assignment.field("left");
      Node right = without_brackets(assignment.field("right"));
      bool is_name = left.is("identifier") || left.is("attribute");
      std::string root = is_name ? root_of(left) : "";
      if (root.empty()) continue;
      if (is_tensor(right)) names_.insert(root);
      if (names_.contains(root)) results_.insert(right.begin());
    }
    if (names_.size() == before) return;
  }
}

bool Tensors::is_tensor(Node expression) const {
  constexpr int deepest = 64;
  for (int depth = 0; depth < deepest; ++depth) {
    expression = without_brackets(expression);
    if (expression.is("identifier")) return names_.contains(std::string(expression.text()));
    if (expression.is("subscript")) {
      expression = expression.field("value");
    } else if (expression.is("unary_operator")) {
      expression = expression.field("argument");
    } else if (expression.is("attribute")) {
      if (names_.contains(root_of(expression)) && root_of(expression) == expression.text()) return true;
      if (!syntax::lists(tensor_members, expression.field("attribute").text())) return false;
      expression = expression.field("object");
    } else if (expression.is("binary_operator")) {
      // One operand suffices; deep chains lean to the left.
      Node right = without_brackets(expression.field("right"));
      if (right.is("identifier") && names_.contains(std::string(right.text()))) return true;
      expression = expression.field("left");
    } else if (expression.is("call")) {
      Node function = expression.field("function");
      if (is_allocation(expression, aliases_)) return true;
      if (auto path = syntax::dotted_path(function)) {
        std::string full = syntax::resolved(aliases_, *path);
        if (full.starts_with("torch.")) return !syntax::computes_nothing(full) && !makes_layer(full);
      }
      if (!function.is("attribute") || !is_tensor_method(function.field("attribute").text())) return false;
      expression = function.field("object");
    } else {
      return false;
    }
  }
  return false;
}

std::optional<std::string> Tensors::operation(Node node) const {
  if (node.is("augmented_assignment")) {
    if (!is_tensor(node.field("left"))) return {};
    return fmt::format("the operator {}", node.field("operator").text());
  }
  if (node.is("unary_operator") && node.field("operator").text() == "-" && is_tensor(node.field("argument")))
    return "the operator -";
  if (!is_arithmetic(node)) return {};
  bool is_on_tensors =
      results_.contains(node.begin()) || is_tensor(node.field("left")) || is_tensor(node.field("right"));
  if (!is_on_tensors) return {};
  return fmt::format("the operator {}", node.field("operator").text());
}

}  // namespace kw::score
