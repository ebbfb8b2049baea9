#include "code/syntax/static_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "code/syntax/passes.h"
#include "code/syntax/tree.h"

namespace kw::syntax {
namespace {

using namespace std::string_view_literals;

constexpr std::array prefixes{"torch.Generator"sv,
                              "torch.Size"sv,
                              "torch.Stream"sv,
                              "torch.Tensor"sv,
                              "torch._"sv,
                              "torch.accelerator"sv,
                              "torch.amp"sv,
                              "torch.arange"sv,
                              "torch.as_tensor"sv,
                              "torch.autocast"sv,
                              "torch.autograd"sv,
                              "torch.backends"sv,
                              "torch.broadcast_shapes"sv,
                              "torch.compile"sv,
                              "torch.cuda"sv,
                              "torch.device"sv,
                              "torch.distributed"sv,
                              "torch.empty"sv,
                              "torch.enable_grad"sv,
                              "torch.export."sv,
                              "torch.finfo"sv,
                              "torch.from_"sv,
                              "torch.full"sv,
                              "torch.fx."sv,
                              "torch.get_"sv,
                              "torch.iinfo"sv,
                              "torch.inference_"sv,
                              "torch.is_"sv,
                              "torch.jit"sv,
                              "torch.library"sv,
                              "torch.load"sv,
                              "torch.manual_seed"sv,
                              "torch.mps."sv,
                              "torch.multiprocessing."sv,
                              "torch.nn.Buffer"sv,
                              "torch.nn.Module"sv,
                              "torch.nn.Parameter"sv,
                              "torch.nn.init"sv,
                              "torch.no_grad"sv,
                              "torch.numel"sv,
                              "torch.ones"sv,
                              "torch.ops"sv,
                              "torch.profiler"sv,
                              "torch.promote_types"sv,
                              "torch.random"sv,
                              "torch.result_type"sv,
                              "torch.save"sv,
                              "torch.set_"sv,
                              "torch.tensor"sv,
                              "torch.testing."sv,
                              "torch.typename"sv,
                              "torch.utils"sv,
                              "torch.version"sv,
                              "torch.xpu."sv,
                              "torch.zeros"sv};

}  // namespace

bool computes_nothing(std::string_view path) {
  return std::ranges::any_of(prefixes, [path](std::string_view prefix) { return path.starts_with(prefix); });
}

}  // namespace kw::syntax

namespace kw {
namespace {

// Honest kernels have a few kilobytes; longer sources are not examined.
constexpr std::size_t longest_examined = std::size_t{4} << 20;

std::size_t first_error_line(syntax::Node root) {
  std::size_t line = 0;
  syntax::walk(root, [&](syntax::Node node) {
    if (line != 0 || !ts_node_has_error(node.raw())) return false;
    if (ts_node_is_error(node.raw()) || ts_node_is_missing(node.raw())) line = node.line();
    return line == 0;
  });
  return line;
}

}  // namespace

StaticReport examine(std::string_view code) {
  StaticReport report;
  if (code.size() > longest_examined) {
    report.open = true;
    report.findings.push_back({"the source is too long to be examined", 0});
    return report;
  }
  syntax::Tree tree(code);
  if (tree.is_null()) {
    report.forbidden.push_back({"source that takes seconds to parse", 1});
    return report;
  }
  report.has_error = tree.has_error();
  if (report.has_error) report.error_line = first_error_line(tree.root());
  const syntax::Nodes nodes(tree.root());
  const syntax::Aliases aliases = syntax::find_aliases(nodes);
  syntax::find_bindings(nodes, report);
  syntax::find_forbidden(nodes, aliases, report);
  syntax::find_jitted(nodes, aliases, report);
  if (!report.has_error) syntax::find_torch_on_values(nodes, aliases, report);
  return report;
}

std::vector<StaticFinding> torch_calls(std::string_view code) {
  std::vector<StaticFinding> found;
  if (code.size() > longest_examined) return found;
  syntax::Tree tree(code);
  if (tree.is_null()) return found;
  const syntax::Aliases aliases = syntax::find_aliases(tree.root());
  syntax::walk(tree.root(), [&](syntax::Node node) {
    if (node.is("decorated_definition") && syntax::is_jitted(node, aliases)) return false;
    if (!node.is("call")) return true;
    auto path = syntax::dotted_path(node.field("function"));
    if (!path) return true;
    const std::string name = syntax::resolved(aliases, *path);
    if (name.starts_with("torch.") && !syntax::computes_nothing(name))
      found.push_back({std::string(*path), node.line()});
    return true;
  });
  return found;
}

bool may_define(const StaticReport& report, std::string_view name) {
  return report.open || report.has_error || report.names.contains(std::string(name));
}

bool may_have_entry(const StaticReport& report) {
  return may_define(report, "ModelNew") || may_define(report, "triton_kernel_wrapper") ||
         std::ranges::any_of(report.names, [](const std::string& name) { return name.ends_with("New"); });
}

namespace {

struct Open {
  char bracket;
  std::size_t line;
};

char partner_of(char closing) {
  return closing == ')' ? '(' : closing == ']' ? '[' : '{';
}

// Scans a source as Python's tokenizer does, for brackets only.
class Scan {
 public:
  explicit Scan(std::string_view code) : code_(code) {}

  std::optional<StaticFinding> run() {
    while (at_ < code_.size()) {
      char c = code_[at_];
      if (c == '#') {
        at_ = std::min(code_.find('\n', at_), code_.size());
        continue;
      }
      if (c == '"' || c == '\'') {
        if (auto open = pass_string(c)) return open;
        continue;
      }
      if (c == '\n') ++line_;
      if (c == '(' || c == '[' || c == '{') open_.push_back({c, line_});
      if (c == ')' || c == ']' || c == '}') {
        if (open_.empty() || open_.back().bracket != partner_of(c))
          return StaticFinding{fmt::format("'{}' closes nothing that is open", c), line_};
        open_.pop_back();
      }
      ++at_;
    }
    if (open_.empty()) return {};
    return StaticFinding{fmt::format("'{}' is never closed", open_.back().bracket), open_.back().line};
  }

 private:
  // Skips a string; a finding if a triple-quoted one is unclosed. A plain one ends with its line at the
  // latest.
  std::optional<StaticFinding> pass_string(char quote) {
    std::size_t began = line_;
    bool triple = code_.substr(at_).starts_with(std::string(3, quote));
    at_ += triple ? 3 : 1;
    while (at_ < code_.size()) {
      if (code_[at_] == '\\') {
        if (at_ + 1 < code_.size() && code_[at_ + 1] == '\n') ++line_;
        at_ += 2;
        continue;
      }
      if (!triple && (code_[at_] == quote || code_[at_] == '\n')) {
        if (code_[at_] == quote) ++at_;
        return {};
      }
      if (triple && code_.substr(at_).starts_with(std::string(3, quote))) {
        at_ += 3;
        return {};
      }
      if (code_[at_] == '\n') ++line_;
      ++at_;
    }
    if (!triple) return {};
    return StaticFinding{"a triple-quoted string is never closed", began};
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<Open> open_;
};

}  // namespace

std::optional<StaticFinding> find_unbalanced(std::string_view code) {
  return Scan(code).run();
}

}  // namespace kw

namespace kw::syntax {
namespace {

void bind(Node name, StaticReport& report) {
  report.names.emplace(name.text());
}

// Binds the names in an assignment's left side; attributes and subscripts bind nothing.
void bind_targets(Node target, StaticReport& report) {
  walk(target, [&](Node node) {
    if (node.is("identifier")) bind(node, report);
    return !node.is("attribute") && !node.is("subscript");
  });
}

void bind_imports(Node statement, StaticReport& report) {
  Node module = statement.field("module_name");
  for (Node name : statement.named_children()) {
    if (!module.is_null() && ts_node_eq(name.raw(), module.raw())) continue;
    if (name.is("wildcard_import")) report.open = true;
    if (name.is("aliased_import")) bind(name.field("alias"), report);
    if (name.is("dotted_name")) report.names.emplace(name.text().substr(0, name.text().find('.')));
  }
}

void bind_definition(Node node, StaticReport& report) {
  bind(node.field("name"), report);
  // `def __getattr__` at the top level defines any name.
  if (node.field("name").text() == "__getattr__") report.open = true;
}

// Binds the names of the node; false if names below it belong to another scope.
bool enter(const Node& node, StaticReport& report) {
  std::string_view type = node.type();
  if (type == "function_definition" || type == "class_definition") {
    bind_definition(node, report);
    return false;
  }
  if (type == "lambda" || type.ends_with("_comprehension") || type == "generator_expression") return false;
  if (type == "import_statement" || type == "import_from_statement" || type == "future_import_statement") {
    bind_imports(node, report);
    return false;
  }
  if (type == "assignment" || type == "augmented_assignment" || type == "for_statement")
    bind_targets(node.field("left"), report);
  if (type == "named_expression") bind(node.field("name"), report);
  if (type == "as_pattern_target") bind_targets(node, report);
  return true;
}

// Whether the node can bind top-level names from any scope.
bool opens(const Node& node) {
  if (!node.is("call")) return false;
  std::string_view function = node.field("function").text();
  return function == "exec" || function == "globals" || function == "vars" || function == "locals" ||
         function == "setattr";
}

}  // namespace

void find_bindings(const Nodes& nodes, StaticReport& report) {
  nodes.walk([&](const Node& node) { return enter(node, report); });
  nodes.walk([&](const Node& node) {
    if (opens(node)) report.open = true;
    if (node.is("global_statement"))
      for (Node name : node.named_children()) bind(name, report);
    return true;
  });
}

namespace {

using namespace std::string_view_literals;

constexpr std::array modules{"ctypes"sv, "_ctypes"sv, "subprocess"sv,
                             "socket"sv, "_socket"sv, "_posixsubprocess"sv};

// Attributes that lead from a frame, a traceback or a generator to variables of other functions.
constexpr std::array attributes{"f_back"sv,    "f_globals"sv,      "f_locals"sv, "f_builtins"sv,
                                "tb_frame"sv,  "gi_frame"sv,       "cr_frame"sv, "ag_frame"sv,
                                "_getframe"sv, "_current_frames"sv};

constexpr std::array functions{
    "sys._getframe"sv,    "sys._current_frames"sv,    "inspect.currentframe"sv,   "inspect.stack"sv,
    "inspect.trace"sv,    "inspect.getouterframes"sv, "inspect.getinnerframes"sv, "gc.get_objects"sv,
    "gc.get_referrers"sv, "gc.get_referents"sv};

bool is_module(std::string_view path) {
  return lists(modules, path.substr(0, path.find('.')));
}

class Search {
 public:
  Search(const Aliases& aliases, StaticReport& report) : aliases_(aliases), report_(report) {}

  void look(const Node& node) {
    std::string_view type = node.type();
    if (type == "import_statement") look_import(node);
    if (type == "import_from_statement") look_import_from(node);
    if (type == "attribute") look_attribute(node);
    if (type == "call") look_call(node);
  }

 private:
  void add(std::string what, Node where) { report_.forbidden.push_back({std::move(what), where.line()}); }

  void look_import(Node statement) {
    for (Node name : statement.named_children()) {
      Node path = name.is("aliased_import") ? name.field("name") : name;
      if (is_module(path.text())) add(fmt::format("imports {}", path.text()), statement);
    }
  }

  void look_import_from(Node statement) {
    Node module = statement.field("module_name");
    if (is_module(module.text())) return add(fmt::format("imports from {}", module.text()), statement);
    for (Node name : statement.named_children()) {
      Node part = name.is("aliased_import") ? name.field("name") : name;
      std::string path = fmt::format("{}.{}", module.text(), part.text());
      if (lists(functions, path)) add(fmt::format("imports {}", path), statement);
    }
  }

  void look_attribute(Node node) {
    std::string_view attribute = node.field("attribute").text();
    if (lists(attributes, attribute)) return add(fmt::format("looks into frames: {}", attribute), node);
    auto path = dotted_path(node);
    if (!path) return;
    std::string full = resolved(aliases_, *path);
    if (!lists(functions, full)) return;
    add(fmt::format("{}: {}", full.starts_with("gc.") ? "searches the heap" : "looks into frames", full),
        node);
  }

  // Modules and attributes that are named by a string: __import__("ctypes"), getattr(frame, "f_back").
  void look_call(Node call) {
    auto function = dotted_path(call.field("function"));
    if (!function) return;
    std::string full = resolved(aliases_, *function);
    bool imports = full == "__import__" || full == "builtins.__import__" ||
                   full == "importlib.import_module" || full == "importlib.__import__";
    if (!imports && full != "getattr") return;
    for (Node argument : call.field("arguments").named_children()) {
      if (argument.is("keyword_argument")) argument = argument.field("value");
      auto text = string_literal(argument);
      if (!text) continue;
      if (imports && is_module(*text)) add(fmt::format("imports {}", *text), call);
      if (!imports && lists(attributes, *text)) add(fmt::format("looks into frames: {}", *text), call);
    }
  }

  const Aliases& aliases_;
  StaticReport& report_;
};

}  // namespace

void find_forbidden(const Nodes& nodes, const Aliases& aliases, StaticReport& report) {
  Search search(aliases, report);
  nodes.walk([&](const Node& node) {
    search.look(node);
    return true;
  });
}

}  // namespace kw::syntax
