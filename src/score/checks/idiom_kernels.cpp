// Kernels: their loads and stores, and the parameters into which they store.
#include <algorithm>
#include <array>

#include "dataset/labels/labels.h"
#include "score/checks/idiom_parts.h"

namespace kw::score {
namespace {

using namespace std::string_view_literals;

constexpr int deepest_expression = 48;
constexpr std::size_t most_steps = 20'000;  // per kernel, in the search for parameters into which it stores

constexpr std::array builtins{"range"sv, "min"sv,     "max"sv,   "abs"sv,      "len"sv,        "int"sv,
                              "float"sv, "bool"sv,    "print"sv, "sum"sv,      "isinstance"sv, "zip"sv,
                              "tuple"sv, "getattr"sv, "str"sv,   "enumerate"sv};

// Functions that return their first argument as a pointer.
constexpr std::array passing{"make_block_ptr"sv,
                             "advance"sv,
                             "make_tensor_descriptor"sv,
                             "cast"sv,
                             "multiple_of"sv,
                             "max_contiguous"sv,
                             "max_constancy"sv,
                             "broadcast_to"sv,
                             "reshape"sv,
                             "view"sv,
                             "_experimental_make_tensor_descriptor"sv};

Node inner(Node node) {
  while (node.is("parenthesized_expression") && !node.named_children().empty())
    node = node.named_children().front();
  return node;
}

class KernelReader {
 public:
  KernelReader(KernelFacts& facts, const Aliases& aliases) : facts_(facts), aliases_(aliases) {}

  void read() {
    read_parameters();
    Node body = facts_.function.field("body");
    syntax::walk(body, [&](Node node) {
      if (node.is("assignment")) note_assignment(node);
      return true;
    });
    walk_live(body, [&](Node node) {
      if (node.is("call")) read_call(node);
      return true;
    });
  }

 private:
  void read_parameters() {
    for (Node parameter : facts_.function.field("parameters").named_children()) {
      if (parameter.is("comment")) continue;
      Node name = parameter.field("name");
      if (name.is_null() && parameter.is("typed_parameter")) name = parameter.named_children().front();
      if (name.is_null()) name = parameter;
      facts_.parameters.emplace_back(name.text());
      if (parameter.field("type").text().contains("constexpr")) ++facts_.kernel.constexpr_parameters;
    }
  }

  void note_assignment(Node node) {
    Node left = node.field("left");
    if (!left.is("identifier")) return;
    auto& values = assigned_[std::string(left.text())];
    if (values.size() < most_values) values.push_back(node.field("right"));
  }

  void read_call(Node call) {
    Node function = call.field("function");
    auto path = syntax::dotted_path(function);
    std::string full = path ? syntax::resolved(aliases_, *path) : std::string();
    std::string_view name =
        function.is("attribute") ? function.field("attribute").text() : syntax::last_part(full);
    bool is_library = full.starts_with("triton.");
    bool is_method = function.is("attribute") && !is_library;
    if (is_library && (name == "device_assert" || name == "device_print")) facts_.has_effect = true;
    if (name.contains("inline_asm") || full.contains("libdevice") ||
        full.starts_with("triton.language.extra")) {
      facts_.calls_unknown = facts_.calls_unknown || name.contains("inline_asm");
      return;
    }
    if (!is_library && !is_method) return read_own_call(full);
    if (name.starts_with("atomic_") || name.contains("store")) return read_store(call, name, is_method);
    if (name.contains("load")) return read_load(call, is_method);
    if (is_method && !path) return;
    // A function of another module than Triton's may store.
    if (is_method && aliases_.contains(path->substr(0, path->find('.'))) && !full.starts_with("math."))
      facts_.calls_unknown = true;
  }

  void read_own_call(const std::string& full) {
    if (full.empty() || syntax::lists(builtins, full)) return;
    facts_.calls.insert(full);
  }

  // Methods of a descriptor check bounds themselves.
  bool is_masked(Node call, std::size_t place, bool is_method) const {
    Arguments arguments(call);
    if (is_method) return true;
    if (auto checked = arguments.named.find("boundary_check"); checked != arguments.named.end())
      return !checked->second.named_children().empty() || checked->second.is("identifier");
    const Node* mask = arguments.find("mask", place);
    return mask != nullptr && !mask->is("none") && !mask->is("true");
  }

  void read_load(Node call, bool is_method) {
    ++facts_.kernel.loads;
    bool has_no_mask = syntax::last_part(call.field("function").text()).contains("descriptor");
    if (is_masked(call, 1, is_method))
      ++facts_.kernel.masked_loads;
    else if (!has_no_mask)
      facts_.unmasked.push_back(call);
  }

  void read_store(Node call, std::string_view name, bool is_method) {
    ++facts_.kernel.stores;
    // Compare-and-swap, and library functions on descriptors, have no mask.
    bool needs_none = name == "atomic_cas" || name.contains("descriptor");
    if (needs_none || is_masked(call, 2, is_method))
      ++facts_.kernel.masked_stores;
    else {
      facts_.kernel.unmasked_store_lines.push_back(call.line());
      facts_.unmasked.push_back(call);
    }
    std::set<std::string> found;
    std::set<std::string> open;
    Arguments arguments(call);
    if (is_method && !name.starts_with("atomic_"))
      parameters_of(call.field("function").field("object"), found, open, 0);
    else if (const Node* pointer = arguments.find("pointer", 0))
      parameters_of(*pointer, found, open, 0);
    if (found.empty()) facts_.knows_written = false;
    facts_.written.insert(found.begin(), found.end());
  }

  // Finds the parameters from which a pointer is computed.
  void parameters_of(Node expression, std::set<std::string>& found, std::set<std::string>& open, int depth) {
    if (depth > deepest_expression || ++steps_ > most_steps) {
      facts_.knows_written = false;
      return;
    }
    expression = inner(expression);
    if (expression.is("identifier")) {
      std::string name(expression.text());
      if (!open.insert(name).second) return;
      if (syntax::lists(facts_.parameters, name)) found.insert(name);
      if (auto values = assigned_.find(name); values != assigned_.end())
        for (Node value : values->second) parameters_of(value, found, open, depth + 1);
    } else if (expression.is("binary_operator")) {
      std::string_view sign = expression.field("operator").text();
      if (sign != "+" && sign != "-") return;
      parameters_of(expression.field("left"), found, open, depth + 1);
      parameters_of(expression.field("right"), found, open, depth + 1);
    } else if (expression.is("subscript")) {
      parameters_of(expression.field("value"), found, open, depth + 1);
    } else if (expression.is("conditional_expression")) {
      for (Node part : expression.named_children()) parameters_of(part, found, open, depth + 1);
    } else if (expression.is("call")) {
      pointer_of_call(expression, found, open, depth);
    }
  }

  void pointer_of_call(Node call, std::set<std::string>& found, std::set<std::string>& open, int depth) {
    Node function = call.field("function");
    if (!function.is("attribute") && !function.is("identifier")) return;
    auto path = syntax::dotted_path(function);
    bool is_library = path && syntax::resolved(aliases_, *path).starts_with("triton.");
    if (function.is("attribute") && !is_library)
      return parameters_of(function.field("object"), found, open, depth + 1);
    Arguments arguments(call);
    if (!path || !syntax::lists(passing, syntax::last_part(*path))) return;
    if (const Node* base = arguments.find("base", 0)) parameters_of(*base, found, open, depth + 1);
  }

  KernelFacts& facts_;
  const Aliases& aliases_;
  std::map<std::string, std::vector<Node>> assigned_;
  std::size_t steps_ = 0;
};

bool is_of_triton(Node decorator, const Aliases& aliases) {
  if (decorator.named_children().empty()) return false;
  Node what = decorator.named_children().front();
  auto path = syntax::dotted_path(what.is("call") ? what.field("function") : what);
  return path && syntax::resolved(aliases, *path).starts_with("triton.");
}

KernelFacts facts_of(Node whole, Node function, const Aliases& aliases, const std::string& outer) {
  KernelFacts facts{function, {}, outer, {}, {}, true, {}, false, {}, false, false, false};
  facts.kernel.name = function.field("name").text();
  facts.kernel.line = function.line();
  corpus::Unit unit;
  unit.kind = corpus::UnitKind::triton;
  unit.name = facts.kernel.name;
  unit.text = whole.text();
  for (Node child : whole.named_children())
    if (child.is("decorator")) {
      unit.decorators.emplace_back(child.text());
      facts.is_wrapped = facts.is_wrapped || !is_of_triton(child, aliases);
    }
  facts.kernel.labels = labels::read_labels(unit);
  KernelReader(facts, aliases).read();
  return facts;
}

// Names of functions passed to triton.jit in a call, instead of a decorator.
std::set<std::string> jitted_by_call(Node root, const Aliases& aliases) {
  std::set<std::string> names;
  syntax::walk(root, [&](Node node) {
    if (!node.is("call")) return true;
    auto path = syntax::dotted_path(node.field("function"));
    if (!path || syntax::resolved(aliases, *path) != "triton.jit") return true;
    for (Node argument : node.field("arguments").named_children())
      if (argument.is("identifier")) names.emplace(argument.text());
    return true;
  });
  return names;
}

// Device functions: another kernel calls them, or they return a value, which a launched kernel cannot.
void mark_called(std::vector<KernelFacts>& kernels) {
  std::set<std::string> called;
  for (const KernelFacts& kernel : kernels) called.insert(kernel.calls.begin(), kernel.calls.end());
  for (KernelFacts& kernel : kernels) {
    kernel.is_called = called.contains(kernel.kernel.name);
    syntax::walk(kernel.function.field("body"), [&](Node node) {
      if (node.is("return_statement") && !node.named_children().empty()) kernel.is_called = true;
      return !node.is("function_definition");
    });
  }
}

}  // namespace

std::vector<KernelFacts> find_kernels(Node root, const Aliases& aliases) {
  std::vector<KernelFacts> kernels;
  std::set<std::string> by_call = jitted_by_call(root, aliases);
  std::vector<Node> around;  // host functions
  std::set<std::size_t> taken;
  syntax::walk(root, [&](Node node) {
    while (!around.empty() && around.back().end() <= node.begin()) around.pop_back();
    bool decorated = node.is("decorated_definition") && syntax::is_jitted(node, aliases);
    bool called = node.is("function_definition") && by_call.contains(std::string(node.field("name").text()));
    if (!decorated && !called) {
      if (node.is("function_definition")) around.push_back(node);
      return true;
    }
    Node function = decorated ? node.field("definition") : node;
    std::string outer = around.empty() ? "" : std::string(around.back().field("name").text());
    if (taken.insert(function.begin()).second) kernels.push_back(facts_of(node, function, aliases, outer));
    return false;
  });
  mark_called(kernels);
  return kernels;
}

}  // namespace kw::score
