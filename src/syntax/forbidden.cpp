#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "syntax/passes.h"

namespace kw::syntax {
namespace {

using namespace std::string_view_literals;

constexpr std::array modules{"ctypes"sv, "_ctypes"sv, "subprocess"sv,
                             "socket"sv, "_socket"sv, "_posixsubprocess"sv};

// Attributes that lead from a frame, a traceback or a generator to somebody else's variables.
constexpr std::array attributes{"f_back"sv,    "f_globals"sv,      "f_locals"sv, "f_builtins"sv,
                                "tb_frame"sv,  "gi_frame"sv,       "cr_frame"sv, "ag_frame"sv,
                                "_getframe"sv, "_current_frames"sv};

constexpr std::array functions{
    "sys._getframe"sv,    "sys._current_frames"sv,    "inspect.currentframe"sv,   "inspect.stack"sv,
    "inspect.trace"sv,    "inspect.getouterframes"sv, "inspect.getinnerframes"sv, "gc.get_objects"sv,
    "gc.get_referrers"sv, "gc.get_referents"sv};

template <typename List>
bool lists(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_module(std::string_view path) {
  return lists(modules, path.substr(0, path.find('.')));
}

class Search {
 public:
  Search(const Aliases& aliases, StaticReport& report) : aliases_(aliases), report_(report) {}

  void look(Node node) {
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

void find_forbidden(Node root, const Aliases& aliases, StaticReport& report) {
  Search search(aliases, report);
  walk(root, [&](Node node) {
    search.look(node);
    return true;
  });
}

}  // namespace kw::syntax
