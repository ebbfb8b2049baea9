// Parses one Python function or class into the parts of a unit, with the names that it defines and uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataset/extract/parsed_file.h"
#include "dataset/extract/source_walk.h"

namespace kw::harvest {

// The names that a piece of Python defines, and those that it uses from elsewhere.
struct Names {
  std::vector<std::string> defines;  // in the piece's own scope; sorted, each once
  std::vector<std::string> uses;     // of no scope inside; with their attributes; sorted, each once
  std::vector<Import> imports;       // in the piece's own scope
  std::vector<Import> nested_imports;
};

Names names_of(Node piece, std::string_view code);

// `whole` is a decorated_definition, function_definition or class_definition. Fills in all but kind, place's
// origin, region, context, helpers, missing and launches. A class has the parameters of its forward.
PendingUnit python_definition(Node whole, std::string_view code);

// The function or class under the decorators; `whole` itself where it has none.
Node definition_of(Node whole);

}  // namespace kw::harvest
