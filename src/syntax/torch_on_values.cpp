// Which PyTorch operations in a kernel are sure to fail? Triton runs calls to Python functions while it
// compiles, so `torch.finfo(torch.float32).max` is fine and `torch.exp(x)` is not, but only if x is a value
// of the kernel's own and the line is compiled at all. Where there is any doubt nothing is said.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "syntax/passes.h"

namespace kw::syntax {
namespace {

using namespace std::string_view_literals;

// They take a torch.Tensor or raise, and have no other meaning.
constexpr std::array operations{
    "abs"sv,        "add"sv,        "argmax"sv,  "argmin"sv, "bmm"sv,  "cat"sv,     "ceil"sv,  "clamp"sv,
    "cos"sv,        "cumsum"sv,     "div"sv,     "dot"sv,    "erf"sv,  "exp"sv,     "floor"sv, "gelu"sv,
    "layer_norm"sv, "leaky_relu"sv, "log"sv,     "matmul"sv, "max"sv,  "maximum"sv, "mean"sv,  "min"sv,
    "minimum"sv,    "mm"sv,         "mul"sv,     "pow"sv,    "relu"sv, "round"sv,   "rsqrt"sv, "sigmoid"sv,
    "silu"sv,       "sin"sv,        "softmax"sv, "sqrt"sv,   "std"sv,  "sub"sv,     "sum"sv,   "tanh"sv,
    "transpose"sv,  "var"sv,        "where"sv};

// What they return is a value of the kernel, never a number of the compiler's.
constexpr std::array sources{"load"sv,  "arange"sv, "zeros"sv, "full"sv, "dot"sv,    "program_id"sv,
                             "where"sv, "exp"sv,    "sqrt"sv,  "log"sv,  "sigmoid"sv};

constexpr int deepest_sum = 32;

template <typename List>
bool lists(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

class Kernel {
 public:
  Kernel(Node function, const Aliases& aliases, StaticReport& report)
      : function_(function), aliases_(aliases), report_(report) {}

  void look() {
    // A parameter or variable called torch or tl is somebody else.
    count_assignments();
    for (Node statement : function_.field("body").named_children()) {
      // Only what stands at the top is compiled for certain; what comes after a return or under a condition
      // is not.
      if (!statement.is("expression_statement")) {
        if (statement.is("comment") || statement.is("for_statement")) continue;
        return;
      }
      auto parts = statement.named_children();
      if (parts.size() != 1) continue;
      look_at(parts.front());
    }
  }

 private:
  void count_assignments() {
    walk(function_, [&](Node node) {
      if (node.is("assignment") || node.is("augmented_assignment") || node.is("for_statement"))
        walk(node.field("left"), [&](Node target) {
          if (target.is("identifier")) ++assigned_[std::string(target.text())];
          return true;
        });
      if (node.is("parameters"))
        walk(node, [&](Node name) {
          if (name.is("identifier")) ++assigned_[std::string(name.text())];
          return !name.is("type");
        });
      return true;
    });
  }

  void look_at(Node expression) {
    Node value = expression.is("assignment") ? expression.field("right") : expression;
    find_calls(value);
    Node target = expression.is("assignment") ? expression.field("left") : expression;
    if (expression.is("assignment") && target.is("identifier") && is_value(value)) {
      std::string name(target.text());
      if (assigned_[name] == 1) values_.insert(name);
    }
  }

  // The call itself, or one among the operands and arguments that are compiled with it.
  void find_calls(Node value) {
    walk(value, [&](Node node) {
      if (node.is("conditional_expression") || node.is("lambda") || node.is("boolean_operator") ||
          node.type().ends_with("comprehension") || node.is("generator_expression"))
        return false;
      if (node.is("call") && is_operation(node) && takes_value(node))
        report_.torch_on_values.push_back(
            {fmt::format("{} is called on a value of the jitted function {}", node.field("function").text(),
                         function_.field("name").text()),
             node.line()});
      return true;
    });
  }

  std::optional<std::string> path_of(Node call) {
    auto path = dotted_path(call.field("function"));
    if (!path || assigned_.contains(path->substr(0, path->find('.')))) return {};
    return resolved(aliases_, *path);
  }

  bool is_operation(Node call) {
    auto path = path_of(call);
    if (!path || !path->starts_with("torch.")) return false;
    std::string_view name = last_part(*path);
    return lists(operations, name) &&
           (*path == fmt::format("torch.{}", name) || *path == fmt::format("torch.nn.functional.{}", name));
  }

  bool takes_value(Node call) {
    auto arguments = call.field("arguments").named_children();
    return !arguments.empty() && is_value(arguments.front());
  }

  // Sums may nest as deep as a candidate likes; beyond a few nothing is said.
  bool is_value(Node node, int depth = 0) {
    while (node.is("parenthesized_expression") && !node.named_children().empty())
      node = node.named_children().front();
    if (node.is("identifier")) return values_.contains(std::string(node.text()));
    if (node.is("binary_operator"))
      return depth < deepest_sum &&
             (is_value(node.field("left"), depth + 1) || is_value(node.field("right"), depth + 1));
    if (!node.is("call")) return false;
    auto path = path_of(node);
    return path && path->starts_with("triton.language.") && lists(sources, last_part(*path)) &&
           std::ranges::count(*path, '.') == 2;
  }

  Node function_;
  const Aliases& aliases_;
  StaticReport& report_;
  std::map<std::string, int, std::less<>> assigned_;
  std::set<std::string> values_;
};

// The names that stand before a subscript, as in name[grid](...); none in a source that catches exceptions.
std::set<std::string, std::less<>> launched_names(Node root) {
  std::set<std::string, std::less<>> names;
  bool catches = false;
  walk(root, [&](Node node) {
    if (node.is("try_statement") || node.is("with_statement")) catches = true;
    if (node.is("subscript") && node.field("value").is("identifier"))
      names.emplace(node.field("value").text());
    return true;
  });
  if (catches) names.clear();
  return names;
}

}  // namespace

void find_torch_on_values(Node root, const Aliases& aliases, StaticReport& report) {
  auto launched = launched_names(root);
  for (Node node : root.named_children()) {
    if (!node.is("decorated_definition") || !is_jitted(node, aliases)) continue;
    Node function = node.field("definition");
    if (launched.contains(function.field("name").text())) Kernel(function, aliases, report).look();
  }
}

}  // namespace kw::syntax
