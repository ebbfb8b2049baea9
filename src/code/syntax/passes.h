// Passes over a source, one question each.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "code/syntax/static_findings.h"
#include "code/syntax/tree.h"

namespace kw::syntax {

// Local name → imported name: {"tl": "triton.language", "jit": "triton.jit"}.
using Aliases = std::map<std::string, std::string, std::less<>>;

Aliases find_aliases(Node root);
Aliases find_aliases(const Nodes& nodes);

// The path with its first part replaced by the imported name.
std::string resolved(const Aliases& aliases, std::string_view path);

// "jit" of "triton.jit".
std::string_view last_part(std::string_view path);

void find_bindings(const Nodes& nodes, StaticReport& report);
void find_forbidden(const Nodes& nodes, const Aliases& aliases, StaticReport& report);
void find_jitted(const Nodes& nodes, const Aliases& aliases, StaticReport& report);
void find_native_code(const Nodes& nodes, const Aliases& aliases, StaticReport& report);
void find_torch_on_values(const Nodes& nodes, const Aliases& aliases, StaticReport& report);

// Whether the list, an array of constants, has this word.
template <typename List>
bool lists(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// Whether the decorated_definition is a function under a Triton decorator.
bool is_jitted(Node decorated, const Aliases& aliases);

}  // namespace kw::syntax
