#include "syntax/passes.h"

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

}  // namespace

Aliases find_aliases(Node root) {
  Aliases aliases;
  walk(root, [&](Node node) {
    if (node.is("import_statement"))
      for (Node name : node.named_children()) add_import(name, "", aliases);
    if (node.is("import_from_statement")) {
      Node module = node.field("module_name");
      for (Node name : node.named_children())
        if (!ts_node_eq(name.raw(), module.raw())) add_import(name, module.text(), aliases);
    }
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

}  // namespace kw::syntax
