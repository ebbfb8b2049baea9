#include <algorithm>

#include "harvest/python_definition.h"
#include "harvest/python_names.h"
#include "harvest/python_parse.h"

namespace kw::harvest {
namespace {

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

// What holds statements of the module without a scope of its own.
bool is_container(std::string_view type) {
  return is_one_of(type,
                   {"module", "ERROR", "if_statement", "elif_clause", "else_clause", "try_statement",
                    "except_clause", "except_group_clause", "finally_clause", "with_statement", "block"});
}

bool is_statement(std::string_view type) {
  return type.ends_with("_statement") || type.ends_with("_definition");
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

class Survey {
 public:
  Survey(const syntax::Tree& tree, ParsedFile& file) : code_(file.source.bytes), python_(file.python) {
    Walk walk(tree.root(), code_);
    for (bool more = walk.next(); more;) {
      Node node = walk.node();
      bool counts = node.is_named() && !node.is("comment");
      bool into = counts && is_container(node.type());
      if (counts) {
        if (walk.depth() == 1) open_top(node);
        if (!into) leaf(node, walk);
      }
      more = walk.next(into);
    }
    close_top();
    std::ranges::sort(python_.guard_names);
    auto again = std::ranges::unique(python_.guard_names);
    python_.guard_names.erase(again.begin(), again.end());
    python_.of_module = python_.statements.size();
    for (const auto& [function, top] : makers_) look_into(function, top);
  }

 private:
  void open_top(Node node) {
    close_top();
    python_.tops.push_back({.span = {node.begin(), node.end()},
                            .first = python_.statements.size(),
                            .last = python_.statements.size(),
                            .uses = {}});
  }

  void close_top() {
    if (!python_.tops.empty()) python_.tops.back().last = python_.statements.size();
  }

  void leaf(Node node, const Walk& walk) {
    Names names = names_of(node, code_);
    auto& nested = python_.nested_imports;
    nested.insert(nested.end(), names.nested_imports.begin(), names.nested_imports.end());
    if (!is_statement(node.type())) {
      append(python_.guard_names, names.defines);
      bool alias = node.is("identifier") && walk.field() == "alias";
      append(alias ? python_.guard_names : python_.tops.back().uses, names.uses);
      return;
    }
    if (node.type().ends_with("_definition") && makes_kernels(definition_of(node)))
      makers_.emplace_back(definition_of(node), python_.tops.size() - 1);
    add(node, std::move(names), python_.tops.size() - 1);
  }

  void add(Node node, Names names, std::size_t top) {
    Statement statement{.span = {node.begin(), node.end()},
                        .top = top,
                        .defines = std::move(names.defines),
                        .uses = std::move(names.uses),
                        .imports = std::move(names.imports)};
    statement.is_definition = node.type().ends_with("_definition");
    python_.statements.push_back(std::move(statement));
  }

  static bool makes_kernels(Node definition) {
    return definition.field("body").text().find(".jit") != std::string_view::npos;
  }

  void look_into(Node function, std::size_t top) {
    Walk walk(function.field("body"), code_);
    for (bool more = walk.next(); more;) {
      Node node = walk.node();
      bool into = node.is_named() && is_container(node.type());
      if (!into && node.is_named() && is_statement(node.type())) add(node, names_of(node, code_), top);
      more = walk.next(into);
    }
  }

  std::string_view code_;
  Python& python_;
  std::vector<std::pair<Node, std::size_t>> makers_;  // functions, with their top-level statements
};

}  // namespace

void survey_python(const syntax::Tree& tree, ParsedFile& file) {
  Survey(tree, file);
}

Aliases aliases_of(const Python& python) {
  Aliases aliases;
  auto add = [&](const Import& import) {
    if (import.local.empty()) return;
    aliases[import.local] = import.name.empty() ? import.module : import.module + "." + import.name;
  };
  for (const Import& import : python.nested_imports) add(import);
  for (const Statement& statement : python.statements)
    for (const Import& import : statement.imports) add(import);
  return aliases;
}

std::string resolved(const Aliases& aliases, std::string_view path) {
  std::size_t dot = path.find('.');
  auto found = aliases.find(path.substr(0, dot));
  if (found == aliases.end()) return std::string(path);
  return found->second + (dot == path.npos ? "" : std::string(path.substr(dot)));
}

}  // namespace kw::harvest
