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

// Operators on tensors, written as methods.
constexpr std::array operator_methods{
    "__add__"sv,  "__radd__"sv, "__iadd__"sv,    "__sub__"sv,    "__rsub__"sv,    "__mul__"sv, "__rmul__"sv,
    "__imul__"sv, "__neg__"sv,  "__truediv__"sv, "__matmul__"sv, "__rmatmul__"sv, "__pow__"sv};

// Methods that return the tensor in another form.
constexpr std::array tensor_views{"view"sv,    "reshape"sv,   "contiguous"sv, "to"sv,      "float"sv,
                                  "half"sv,    "bfloat16"sv,  "type"sv,       "double"sv,  "transpose"sv,
                                  "permute"sv, "t"sv,         "squeeze"sv,    "flatten"sv, "unsqueeze"sv,
                                  "expand"sv,  "expand_as"sv, "view_as"sv,    "clone"sv,   "detach"sv,
                                  "repeat"sv,  "type_as"sv,   "unflatten"sv,  "cuda"sv,    "narrow"sv};

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
  if (!syntax::lists(methods, plain) && !syntax::lists(operator_methods, name)) return {};
  auto path = syntax::dotted_path(function);
  // Functions of modules are not methods of tensors: numpy.sum, math.log.
  if (path && aliases.contains(path->substr(0, path->find('.')))) return {};
  return fmt::format(".{}()", name);
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
  // `calls_own` tells of an expression whether it calls code that may return the result of a kernel.
  Flow(Node function, const Aliases& aliases, const std::function<bool(Node)>& calls_own)
      : aliases_(aliases), calls_own_(calls_own) {
    walk_live(function.field("body"), [&](Node node) {
      bool is_loop = node.is("for_statement");
      bool assigns = node.is("assignment") || node.is("augmented_assignment") || is_loop;
      if (assigns && !node.field("right").is_null()) add(node.field("left"), node.field("right"));
      if (node.is("named_expression")) add(node.field("name"), node.field("value"));
      if (node.is("call")) add_call(node);
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
    if (assignments_.size() > most_assignments || searched_bytes_ > most_searched_bytes) return false;
    for (int round = 0; round < most_rounds; ++round) {
      std::size_t before = stored_.size();
      for (const Assignment& assignment : assignments_) pass(assignment);
      if (stored_.size() == before) return true;
    }
    return false;
  }

  bool returns_values() const {
    return std::ranges::any_of(returns_, [](Node node) {
      auto values = node.named_children();
      return !values.empty() && !values.front().is("none");
    });
  }

  // A call that passes values to code of the source.
  const std::optional<Node>& own_call() const { return own_call_; }

  // The returns of values that no kernel has stored into.
  std::vector<Node> returns_of_others() const {
    std::vector<Node> found;
    for (Node node : returns_) {
      auto values = node.named_children();
      if (values.empty() || values.front().is("none")) continue;
      if (!holds_stored(roots_in(values.front())) && !calls_own_(values.front())) found.push_back(node);
    }
    return found;
  }

  // The line of the first return with a value if no return gives a kernel's result; else empty. A function
  // that returns `self` is not followed.
  std::optional<std::size_t> line_of_unused() const {
    std::optional<std::size_t> line;
    for (Node node : returns_) {
      auto values = node.named_children();
      if (values.empty() || values.front().is("none")) continue;
      if (values.front().is("identifier") && values.front().text() == "self") return {};
      if (holds_stored(roots_in(values.front())) || calls_own_(values.front())) return {};
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

  // As roots_in, up to a limit for all expressions together: calls nested in calls are searched once a level.
  std::set<std::string> searched(Node expression) {
    searched_bytes_ += expression.end() - expression.begin();
    return searched_bytes_ > most_searched_bytes ? std::set<std::string>{} : roots_in(expression);
  }

  void add(Node left, Node right) {
    std::set<std::string> targets = targets_of(left);
    if (calls_own_(right)) stored_.insert(targets.begin(), targets.end());
    bool is_new = right.is("call") && is_allocation(right, aliases_);
    assignments_.push_back({std::move(targets), searched(right), is_new});
  }

  // Calls that put values into a variable: out.copy_(y), outputs.append(y), torch.add(y, z, out=out).
  void add_call(Node call) {
    Node function = call.field("function");
    Node arguments = call.field("arguments");
    if (!own_call_ && !function.is("subscript") && !arguments.named_children().empty() &&
        calls_own_(function))
      own_call_ = call;
    std::set<std::string> targets;
    if (function.is("attribute"))
      if (std::string root = root_of(function.field("object")); !root.empty() && !aliases_.contains(root))
        targets.insert(std::move(root));
    for (Node argument : arguments.named_children())
      if (argument.is("keyword_argument") && argument.field("name").text() == "out")
        if (std::string root = root_of(argument.field("value")); !root.empty())
          targets.insert(std::move(root));
    if (!targets.empty()) assignments_.push_back({std::move(targets), searched(arguments), true});
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

  const Aliases& aliases_;
  const std::function<bool(Node)>& calls_own_;
  std::vector<Assignment> assignments_;
  std::vector<Node> returns_;
  std::optional<Node> own_call_;
  std::set<std::string> stored_;
  static constexpr std::size_t most_searched_bytes = std::size_t{4} << 20;
  std::size_t searched_bytes_ = 0;
};

// Adds the variables that an argument may pass: both sides of `out if wanted else None`, the arguments of
// `TensorDescriptor.from_tensor(out, block)`. False if one is not known.
bool add_passed(Node argument, const Aliases& aliases, std::set<std::string>& roots) {
  std::vector<Node> parts{argument};
  if (auto sides = argument.named_children(); argument.is("conditional_expression") && sides.size() == 3)
    parts = {sides[0], sides[2]};
  for (Node part : parts) {
    if (part.is("none")) continue;
    std::string root = root_of(part);
    if (root.empty()) return false;
    if (part.is("call") && aliases.contains(root))
      roots.merge(roots_in(part.field("arguments")));
    else
      roots.insert(std::move(root));
  }
  return true;
}

// The arguments' variables for the parameters into which the kernel stores; empty if these are unknown.
std::optional<std::set<std::string>> stored_by(const LaunchSite& launch, const KernelFacts& kernel,
                                               const Aliases& aliases) {
  if (!kernel.knows_written || kernel.written.empty()) return {};
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
    if (!add_passed(named ? argument.field("value") : argument, aliases, roots)) return {};
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

void each_own_name(Node node, const Aliases& aliases,
                   const std::function<void(std::string_view name, std::size_t begin)>& take) {
  std::set<std::size_t> methods_at;
  std::size_t chain_end = 0;  // of the object of the last attribute, which is an attribute itself
  syntax::walk(node, [&](Node inner) {
    if (inner.is("identifier") && !methods_at.contains(inner.begin())) take(inner.text(), inner.begin());
    if (!inner.is("attribute")) return true;
    bool is_in_chain = inner.end() == chain_end;  // its path is the beginning of one that was looked at
    Node object = inner.field("object");
    chain_end = object.is("attribute") ? object.end() : 0;
    if (!is_in_chain) {
      auto path = syntax::dotted_path(inner);
      if (path && syntax::resolved(aliases, *path).starts_with("torch.")) return false;
    }
    Node member = inner.field("attribute");
    take(fmt::format(".{}", member.text()), member.begin());
    methods_at.insert(member.begin());
    return true;
  });
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

std::set<std::string> targets_of(Node left) {
  std::set<std::string> targets;
  if (left.is("pattern_list") || left.is("tuple_pattern") || left.is("list_pattern")) {
    for (Node part : left.named_children())
      if (part.is("tuple_pattern") || part.is("list_pattern"))
        targets.merge(identifiers(part));
      else if (std::string root = root_of(part); !root.empty())
        targets.insert(std::move(root));
  } else if (std::string root = root_of(left); !root.empty()) {
    targets.insert(std::move(root));
  }
  return targets;
}

bool is_tensor_method(std::string_view name) {
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  return syntax::lists(methods, name) || syntax::lists(tensor_views, name);
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

std::vector<Node> returns_without_kernel(Node function, const std::vector<LaunchSite>& launches,
                                         const Aliases& aliases, const std::function<bool(Node)>& calls_own) {
  Flow flow(function, aliases, calls_own);
  for (const LaunchSite& launch : launches) {
    std::optional<std::set<std::string>> roots;
    if (launch.kernels.size() == 1) roots = stored_by(launch, *launch.kernels.front(), aliases);
    // A kernel that cannot be followed may store into any of its arguments.
    if (!roots) roots = roots_in(launch.call.field("arguments"));
    for (const std::string& root : *roots) flow.stored_into(root);
  }
  if (!flow.settle()) return {};
  return flow.returns_of_others();
}

ResultUse result_use(Node function, const std::vector<LaunchSite>& launches, const Aliases& aliases,
                     const std::function<bool(Node)>& calls_own) {
  Flow flow(function, aliases, calls_own);
  std::string_view name = function.field("name").text();
  if (!flow.returns_values()) return {};
  std::optional<StaticFinding> unknown;
  auto note_unknown = [&](Node place, std::string_view why) {
    if (!unknown) unknown = StaticFinding{fmt::format("{}: {}", name, why), place.line()};
  };
  for (const LaunchSite& launch : launches) {
    if (launch.kernels.empty()) note_unknown(launch.call, "the launched kernel is not known");
    for (const KernelFacts* kernel : launch.kernels) {
      auto roots = stored_by(launch, *kernel, aliases);
      if (!roots || kernel->calls_unknown)
        note_unknown(launch.call, fmt::format("what {} stores into is not known", kernel->kernel.name));
      if (!roots) continue;
      for (const std::string& root : *roots) flow.stored_into(root);
    }
  }
  if (!flow.settle())
    return {{}, StaticFinding{fmt::format("{}: it has too many assignments", name), function.line()}};
  auto line = flow.line_of_unused();
  if (!line) return {};
  if (flow.own_call())
    note_unknown(*flow.own_call(), "it passes values to a function of the source, which may store into them");
  if (unknown) return {{}, unknown};
  return {StaticFinding{fmt::format("{} returns nothing that a kernel has stored into", name), *line}, {}};
}

}  // namespace kw::score
