// Live code, PyTorch operations, and whether a function returns a kernel's result.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "code/syntax/static_findings.h"
#include "score/checks/idiom_parts.h"

namespace kw::score {
namespace {

using namespace std::string_view_literals;

constexpr std::array allocations{"torch.empty"sv, "torch.zeros"sv, "torch.ones"sv,  "torch.full"sv,
                                 "torch.rand"sv,  "torch.randn"sv, "torch.arange"sv};

// Methods of tensors that compute, without the '_' of their in-place variants.
constexpr std::array methods{
    "matmul"sv,  "mm"sv,        "bmm"sv,     "addmm"sv,   "baddbmm"sv, "softmax"sv,     "log_softmax"sv,
    "relu"sv,    "sigmoid"sv,   "tanh"sv,    "sum"sv,     "mean"sv,    "std"sv,         "var"sv,
    "exp"sv,     "log"sv,       "sqrt"sv,    "rsqrt"sv,   "pow"sv,     "square"sv,      "cumsum"sv,
    "cumprod"sv, "norm"sv,      "clamp"sv,   "abs"sv,     "mul"sv,     "add"sv,         "sub"sv,
    "div"sv,     "neg"sv,       "max"sv,     "min"sv,     "amax"sv,    "amin"sv,        "argmax"sv,
    "argmin"sv,  "prod"sv,      "sin"sv,     "cos"sv,     "erf"sv,     "dot"sv,         "mv"sv,
    "outer"sv,   "topk"sv,      "sort"sv,    "gather"sv,  "scatter"sv, "scatter_add"sv, "masked_fill"sv,
    "where"sv,   "logsumexp"sv, "maximum"sv, "minimum"sv, "round"sv,   "floor"sv,       "ceil"sv};

template <typename List>
bool begins_with_one(const List& prefixes, std::string_view word) {
  return std::ranges::any_of(prefixes, [word](std::string_view prefix) { return word.starts_with(prefix); });
}

bool is_never(Node condition) {
  return condition.is("false") || condition.is("none") ||
         (condition.is("integer") && condition.text() == "0");
}

std::optional<std::string> method_work(Node function, const Aliases& aliases) {
  std::string name(function.field("attribute").text());
  std::string_view plain = name;
  if (plain.size() > 1 && plain.ends_with('_')) plain.remove_suffix(1);
  if (std::ranges::find(methods, plain) == methods.end()) return {};
  auto path = syntax::dotted_path(function);
  // Functions of modules are not methods of tensors: numpy.sum, math.log.
  if (path && aliases.contains(path->substr(0, path->find('.')))) return {};
  return fmt::format(".{}()", name);
}

// The variables that an assignment sets: the base variables of its left side.
std::set<std::string> targets_of(Node left) {
  std::set<std::string> targets;
  if (left.is("pattern_list") || left.is("tuple_pattern") || left.is("list_pattern")) {
    for (Node part : left.named_children())
      if (std::string root = root_of(part); !root.empty()) targets.insert(std::move(root));
  } else if (std::string root = root_of(left); !root.empty()) {
    targets.insert(std::move(root));
  }
  return targets;
}

// Variables and attributes of self ("self.name") in an expression.
std::set<std::string> roots_in(Node expression) {
  std::set<std::string> roots;
  std::vector<Node> open{expression};
  while (!open.empty()) {
    Node node = open.back();
    open.pop_back();
    bool is_name = node.is("identifier") || node.is("attribute");
    if (is_name)
      if (std::string root = root_of(node); !root.empty()) roots.insert(std::move(root));
    if (node.is("attribute")) {
      open.push_back(node.field("object"));
    } else if (node.is("keyword_argument")) {
      open.push_back(node.field("value"));
    } else {
      auto children = node.named_children();
      open.insert(open.end(), children.begin(), children.end());
    }
  }
  return roots;
}

// Tracks the variables that contain a kernel's results, or views of them.
class Flow {
 public:
  // `own` are functions of the source, which may return the result of a kernel that they launch.
  Flow(Node function, const Aliases& aliases, const std::set<std::string>& own) : own_(own) {
    walk_live(function.field("body"), [&](Node node) {
      bool assigns = node.is("assignment") || node.is("augmented_assignment");
      if (assigns && !node.field("right").is_null()) add(node, aliases);
      if (node.is("return_statement")) returns_.push_back(node);
      return !node.is("function_definition") && !node.is("lambda");
    });
  }

  void stored_into(std::string root) { stored_.insert(std::move(root)); }

  // Propagates in both directions through assignments until nothing is added. False if honest code would not
  // need that many rounds or assignments.
  bool settle() {
    constexpr int most_rounds = 64;
    constexpr std::size_t most_assignments = 4'000;
    if (assignments_.size() > most_assignments) return false;
    for (int round = 0; round < most_rounds; ++round) {
      std::size_t before = stored_.size();
      for (const Assignment& assignment : assignments_) pass(assignment);
      if (stored_.size() == before) return true;
    }
    return false;
  }

  // The line of the first return with a value if no return gives a kernel's result; else empty.
  std::optional<std::size_t> line_of_unused() const {
    std::optional<std::size_t> line;
    for (Node node : returns_) {
      auto values = node.named_children();
      if (values.empty() || values.front().is("none")) continue;
      if (holds_stored(roots_in(values.front())) || asks_own(values.front())) return {};
      if (!line) line = node.line();
    }
    return line;
  }

 private:
  struct Assignment {
    std::set<std::string> targets;
    std::set<std::string> sources;
    bool is_new = false;  // a new tensor, not a view of the right side
  };

  void add(Node node, const Aliases& aliases) {
    Node right = node.field("right");
    std::set<std::string> targets = targets_of(node.field("left"));
    if (asks_own(right)) stored_.insert(targets.begin(), targets.end());
    bool is_new = right.is("call") && is_allocation(right, aliases);
    assignments_.push_back({std::move(targets), roots_in(right), is_new});
  }

  bool asks_own(Node expression) const {
    return std::ranges::any_of(identifiers(expression),
                               [this](const auto& name) { return own_.contains(name); });
  }

  bool holds_stored(const std::set<std::string>& roots) const {
    return std::ranges::any_of(roots, [this](const std::string& root) { return stored_.contains(root); });
  }

  void pass(const Assignment& assignment) {
    if (holds_stored(assignment.sources))
      stored_.insert(assignment.targets.begin(), assignment.targets.end());
    // Storing into a tensor also stores into its views.
    if (!assignment.is_new && holds_stored(assignment.targets))
      stored_.insert(assignment.sources.begin(), assignment.sources.end());
  }

  const std::set<std::string>& own_;
  std::vector<Assignment> assignments_;
  std::vector<Node> returns_;
  std::set<std::string> stored_;
};

// The arguments' variables for the parameters into which the kernel stores; empty if these are unknown.
std::optional<std::set<std::string>> stored_by(const LaunchSite& launch, const KernelFacts& kernel) {
  if (!kernel.knows_written || kernel.calls_unknown || kernel.written.empty()) return {};
  std::set<std::string> roots;
  std::size_t place = 0;
  for (Node argument : launch.call.field("arguments").named_children()) {
    if (argument.is("comment")) continue;
    if (argument.is("list_splat") || argument.is("dictionary_splat")) return {};
    bool named = argument.is("keyword_argument");
    std::string parameter;
    if (named)
      parameter = argument.field("name").text();
    else if (place < kernel.parameters.size())
      parameter = kernel.parameters[place++];
    if (!kernel.written.contains(parameter)) continue;
    std::string root = root_of(named ? argument.field("value") : argument);
    if (root.empty()) return {};
    roots.insert(std::move(root));
  }
  if (roots.empty()) return {};
  return roots;
}

}  // namespace

void walk_live(Node node, const std::function<bool(Node)>& enter) {
  std::vector<Node> open{node};
  while (!open.empty()) {
    Node next = open.back();
    open.pop_back();
    if (!enter(next)) continue;
    auto children = next.named_children();
    if (next.is("block")) {
      auto last = std::ranges::find_if(
          children, [](Node child) { return child.is("return_statement") || child.is("raise_statement"); });
      if (last != children.end()) children.erase(last + 1, children.end());
    }
    bool never = (next.is("if_statement") || next.is("while_statement") || next.is("elif_clause")) &&
                 is_never(next.field("condition"));
    if (never) std::erase_if(children, [](Node child) { return child.is("block"); });
    open.insert(open.end(), children.rbegin(), children.rend());
  }
}

std::set<std::string> identifiers(Node node) {
  std::set<std::string> names;
  syntax::walk(node, [&](Node inner) {
    if (inner.is("identifier")) names.emplace(inner.text());
    return true;
  });
  return names;
}

std::string root_of(Node expression) {
  constexpr int longest_chain = 64;
  std::string_view member;
  for (int link = 0; link < longest_chain; ++link) {
    if (expression.is("identifier")) {
      std::string name(expression.text());
      return name == "self" || name == "ctx" ? (member.empty() ? "" : fmt::format("{}.{}", name, member))
                                             : name;
    }
    if (expression.is("attribute")) {
      member = expression.field("attribute").text();
      expression = expression.field("object");
    } else if (expression.is("call")) {
      expression = expression.field("function");
      if (!expression.is("attribute")) return {};
    } else if (expression.is("subscript")) {
      expression = expression.field("value");
    } else if (expression.is("parenthesized_expression") && !expression.named_children().empty()) {
      expression = expression.named_children().front();
    } else {
      return {};
    }
  }
  return {};
}

bool makes_layer(std::string_view path) {
  std::string_view name = path.substr(path.rfind('.') + 1);
  return path.starts_with("torch.nn.") && !path.starts_with("torch.nn.functional.") && !name.empty() &&
         name[0] >= 'A' && name[0] <= 'Z';
}

bool is_allocation(Node call, const Aliases& aliases) {
  Node function = call.field("function");
  if (function.is("attribute") && function.field("attribute").text().starts_with("new_")) return true;
  auto path = syntax::dotted_path(function);
  return path && begins_with_one(allocations, syntax::resolved(aliases, *path));
}

std::optional<std::string> torch_operation(Node node, const Aliases& aliases,
                                           const std::map<std::string, std::string>& layers) {
  if (node.is("binary_operator") && node.field("operator").text() == "@") return "the operator @";
  if (!node.is("call")) return {};
  Node function = node.field("function");
  auto path = syntax::dotted_path(function);
  if (path) {
    if (auto layer = layers.find(*path); layer != layers.end())
      return fmt::format("{}, a {}", *path, layer->second);
    std::string full = syntax::resolved(aliases, *path);
    if (full.starts_with("torch.")) {
      if (syntax::computes_nothing(full) || makes_layer(full)) return {};
      return full;
    }
  }
  return function.is("attribute") ? method_work(function, aliases) : std::nullopt;
}

std::optional<StaticFinding> unused_result(Node function, const std::vector<LaunchSite>& launches,
                                           const Aliases& aliases, const std::set<std::string>& own) {
  Flow flow(function, aliases, own);
  for (const LaunchSite& launch : launches) {
    if (launch.kernels.empty()) return {};
    for (const KernelFacts* kernel : launch.kernels) {
      auto roots = stored_by(launch, *kernel);
      if (!roots) return {};
      for (const std::string& root : *roots) flow.stored_into(root);
    }
  }
  if (!flow.settle()) return {};
  auto line = flow.line_of_unused();
  if (!line) return {};
  return StaticFinding{
      fmt::format("{} returns nothing that a kernel has stored into", function.field("name").text()), *line};
}

}  // namespace kw::score
