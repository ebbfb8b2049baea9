#include "code/syntax/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace kw::syntax {
namespace {

// `import a.b` binds a; `import a.b as c` and `from a import b as c` bind c.
void add_import(Node name, std::string_view module, Aliases& aliases) {
  std::string prefix = module.empty() ? "" : std::string(module) + ".";
  if (name.is("aliased_import")) {
    aliases[std::string(name.field("alias").text())] = prefix + std::string(name.field("name").text());
  } else if (name.is("dotted_name")) {
    std::string_view text = name.text();
    std::string local(text.substr(0, text.find('.')));
    aliases[local] = prefix + local;
  }
}

void add_imports(const Node& node, Aliases& aliases) {
  if (node.is("import_statement"))
    for (Node name : node.named_children()) add_import(name, "", aliases);
  if (node.is("import_from_statement")) {
    Node module = node.field("module_name");
    for (Node name : node.named_children())
      if (!ts_node_eq(name.raw(), module.raw())) add_import(name, module.text(), aliases);
  }
}

}  // namespace

Aliases find_aliases(Node root) {
  Aliases aliases;
  walk(root, [&](const Node& node) {
    add_imports(node, aliases);
    return true;
  });
  return aliases;
}

Aliases find_aliases(const Nodes& nodes) {
  Aliases aliases;
  nodes.walk([&](const Node& node) {
    add_imports(node, aliases);
    return true;
  });
  return aliases;
}

std::string resolved(const Aliases& aliases, std::string_view path) {
  std::size_t dot = path.find('.');
  auto found = aliases.find(path.substr(0, dot));
  if (found == aliases.end()) return std::string(path);
  return found->second + (dot == std::string_view::npos ? "" : std::string(path.substr(dot)));
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

namespace {

// triton.jit, triton.autotune(...), and any other jit except those of other compilers.
bool is_triton_decorator(std::string_view path) {
  std::string_view last = path.substr(path.rfind('.') + 1);
  if (last != "jit" && last != "autotune" && last != "heuristics") return false;
  std::string_view root = path.substr(0, path.find('.'));
  return root != "torch" && root != "numba" && root != "jax";
}

bool is_triton_decorator(Node expression, const Aliases& aliases) {
  if (expression.is("call")) expression = expression.field("function");
  auto path = dotted_path(expression);
  return path && is_triton_decorator(resolved(aliases, *path));
}

void find_torch_calls(Node function, const Aliases& aliases, StaticReport& report) {
  std::string name(function.field("name").text());
  walk(function.field("body"), [&](Node node) {
    if (!node.is("call")) return true;
    auto path = dotted_path(node.field("function"));
    if (path && resolved(aliases, *path).starts_with("torch."))
      report.findings.push_back(
          {fmt::format("calls {} inside the jitted function {}", *path, name), node.line()});
    return true;
  });
}

// Names that are used as name[grid](...), name(...), name.run(...) or passed on.
std::set<std::string_view> names_used(const Nodes& nodes) {
  std::set<std::string_view> used;
  std::size_t body = 0;  // where the names of the last outer function's body begin: its own name is no use
  std::size_t end = 0;   // of that function
  nodes.walk([&](const Node& node) {
    if (node.is("function_definition") && node.begin() >= end) {
      Node block = node.field("body");
      end = node.end();
      body = block.is_null() ? end : block.begin();
    }
    if (node.is("identifier") && node.begin() >= body) used.emplace(node.text());
    return true;
  });
  return used;
}

}  // namespace

bool is_jitted(Node decorated, const Aliases& aliases) {
  if (!decorated.field("definition").is("function_definition")) return false;
  return std::ranges::any_of(decorated.named_children(), [&](Node child) {
    if (!child.is("decorator")) return false;
    auto parts = child.named_children();
    return !parts.empty() && is_triton_decorator(parts.front(), aliases);
  });
}

void find_jitted(const Nodes& nodes, const Aliases& aliases, StaticReport& report) {
  std::set<std::string_view> used = names_used(nodes);
  nodes.walk([&](const Node& node) {
    if (!node.is("decorated_definition") || !is_jitted(node, aliases)) return true;
    Node function = node.field("definition");
    std::string name(function.field("name").text());
    report.jitted.push_back(name);
    find_torch_calls(function, aliases, report);
    if (!used.contains(name))
      report.findings.push_back({fmt::format("the jitted function {} is never used", name), function.line()});
    return true;
  });
  find_native_code(nodes, aliases, report);
  if (report.jitted.empty() && !report.native_code)
    report.findings.push_back({"the source has no @triton.jit function", 0});
}

namespace {

// Finds PyTorch operations in a kernel that certainly fail. Triton runs calls of Python functions during
// compilation: `torch.finfo(torch.float32).max` works, and `torch.exp(x)` fails if x is a value of the kernel
// and the line is compiled. Doubtful cases are no findings.

using namespace std::string_view_literals;

// Operations that accept only a torch.Tensor.
constexpr std::array operations{
    "abs"sv,        "add"sv,        "argmax"sv,  "argmin"sv, "bmm"sv,  "cat"sv,     "ceil"sv,  "clamp"sv,
    "cos"sv,        "cumsum"sv,     "div"sv,     "dot"sv,    "erf"sv,  "exp"sv,     "floor"sv, "gelu"sv,
    "layer_norm"sv, "leaky_relu"sv, "log"sv,     "matmul"sv, "max"sv,  "maximum"sv, "mean"sv,  "min"sv,
    "minimum"sv,    "mm"sv,         "mul"sv,     "pow"sv,    "relu"sv, "round"sv,   "rsqrt"sv, "sigmoid"sv,
    "silu"sv,       "sin"sv,        "softmax"sv, "sqrt"sv,   "std"sv,  "sub"sv,     "sum"sv,   "tanh"sv,
    "transpose"sv,  "var"sv,        "where"sv};

// Functions whose results are values of the kernel, never numbers of the compiler.
constexpr std::array sources{"load"sv,  "arange"sv, "zeros"sv, "full"sv, "dot"sv,    "program_id"sv,
                             "where"sv, "exp"sv,    "sqrt"sv,  "log"sv,  "sigmoid"sv};

constexpr int deepest_sum = 32;

class Kernel {
 public:
  Kernel(Node function, const Aliases& aliases, StaticReport& report)
      : function_(function), aliases_(aliases), report_(report) {}

  void look() {
    // A parameter or variable named torch or tl is not the module.
    count_assignments();
    for (Node statement : function_.field("body").named_children()) {
      // Statements at the top level are certainly compiled, those after a return or in a condition may not
      // be.
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

  // Finds the call itself, and calls among the operands and arguments that are compiled with it.
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

  // The depth is limited, since a candidate may nest sums to any depth.
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

// The names before a subscript, as in name[grid](...); none in a source that catches exceptions.
std::set<std::string_view> launched_names(const Nodes& nodes) {
  std::set<std::string_view> names;
  bool catches = false;
  nodes.walk([&](const Node& node) {
    if (node.is("try_statement") || node.is("with_statement")) catches = true;
    if (node.is("subscript") && node.field("value").is("identifier"))
      names.emplace(node.field("value").text());
    return true;
  });
  if (catches) names.clear();
  return names;
}

}  // namespace

void find_torch_on_values(const Nodes& nodes, const Aliases& aliases, StaticReport& report) {
  auto launched = launched_names(nodes);
  for (Node node : nodes.root().named_children()) {
    if (!node.is("decorated_definition") || !is_jitted(node, aliases)) continue;
    Node function = node.field("definition");
    if (launched.contains(function.field("name").text())) Kernel(function, aliases, report).look();
  }
}

}  // namespace kw::syntax
