// The statements of a piece of code that was put together, and the parts of a function that a reader of one
// place in it can do without.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/extract/harvest.h"

namespace kw::harvest {

// A decorator line of a definition, with the names that it needs.
struct DecoratorPart {
  corpus::Span span;  // with its newline
  std::vector<std::string> uses;
};

// A top-level statement. Names are without attributes: "tl" of "tl.load".
struct CodePart {
  corpus::Span span;  // from the first decorator
  bool is_import = false;
  bool only_declares = false;  // of Python: binds none of its names when it runs
  std::vector<std::string> defines;
  std::vector<std::string> uses;  // without those of decorators
  std::vector<DecoratorPart> decorators;
};

struct CodeParts {
  std::vector<CodePart> parts;
  bool parses = false;  // without an error
};

CodeParts code_parts(std::string_view code, Language language);

// A name that Python itself defines.
bool is_builtin_name(std::string_view name);

// What a statement at module level binds a name to.
struct Binding {
  std::string name;
  std::string meaning;  // the object of an import ("triton.language"), else the statement
  bool is_import = false;
  bool continues = false;  // made from the name's earlier value, or the first after None
};

// Of imports, definitions and assignments, in the order of the code; not of those under a condition.
std::vector<Binding> bindings(std::string_view python);

// How a function of Python is called, and how many values it returns.
struct CallShape {
  std::vector<corpus::Parameter> parameters;
  // The numbers of values of its return statements, sorted; 0: not known.
  std::vector<std::size_t> returned;
};

// Of the first function in the code; nothing without one.
std::optional<CallShape> call_shape(std::string_view python);

// Whether the whole text is valid code.
bool parses(std::string_view code, Language language);

// Names that the Python code uses at module level or deeper and nothing in it defines, no builtins; sorted.
// A relative import is named as written ("from ..utils"). A bare annotation and a branch for type checkers
// define no name.
std::vector<std::string> undefined_names(std::string_view python);

// The lines of decorators whose names nothing in the Python code defines.
std::vector<corpus::Span> unknown_decorators(std::string_view python);

// The Python code without decorators whose names nothing in it defines.
std::string without_unknown_decorators(std::string_view python);

// A part of a function that can be left out: whole lines, replaced by `instead`. A function without some of
// its parts is still valid code.
struct SparePart {
  corpus::Span span;
  std::string instead;       // a comment line, or an empty block
  std::size_t distance = 0;  // bytes between it and the hole
};

// Statements beside those that contain the hole, the nearest first; bodies of branches that the hole is not
// in. `function` is the text of one function without indentation, decorators included.
std::vector<SparePart> spare_parts(std::string_view function, corpus::Span hole, Language language);

}  // namespace kw::harvest
