// What one file holds before names are looked up in others. Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harvest/harvest.h"

namespace kw::harvest {

// `from module import name as local`; an empty name: the module itself. `from module import *` has the name
// "*" and no local one. Modules are as written: "..utils".
struct Import {
  std::string local;
  std::string module;
  std::string name;
  std::string submodule;  // `import a.b` binds a, and loads "a.b"
};

// A statement of a module, or one under an if, try or with that stands there.
struct Statement {
  corpus::Span span;
  std::size_t top = 0;  // the top-level statement it belongs to
  std::vector<std::string> defines;
  std::vector<std::string> uses;  // "tl.load", "BLOCK": names of other scopes, with their attributes
  std::vector<Import> imports;    // of an import statement
  bool is_definition = false;     // a function or class
  bool uses_kernels = false;      // is one, or launches one
};

struct Top {
  corpus::Span span;
  std::size_t first = 0;  // its statements: [first, last)
  std::size_t last = 0;
  std::vector<std::string> uses;  // of its conditions
};

struct PendingLaunch {
  std::string callee;                // as written: "kernel", "kernels.add"
  std::vector<std::string> aliases;  // what the caller assigned to that name
  corpus::Launch launch;
  corpus::Span span;
};

struct Decorator {
  std::string name;  // "triton.autotune"
  std::vector<std::string> uses;
};

// A unit with all that its own file says.
struct PendingUnit {
  corpus::Unit unit;
  std::size_t top = 0;
  std::vector<std::string> uses;
  std::vector<Decorator> decorators;
  bool only_if_torch = false;  // counts unless it turns out to launch kernels
};

struct Python {
  std::vector<Top> tops;
  // First those of the module, in the order of the source; then those of functions that make kernels, whose
  // names only what has found no other meaning looks at.
  std::vector<Statement> statements;
  std::size_t of_module = 0;
  std::vector<Import> nested_imports;
  std::vector<std::string> guard_names;  // of `except ... as name` and `with ... as name`; sorted, each once
};

// A definition of a CUDA file: function, struct, constant, macro, alias.
struct CudaItem {
  std::string name;
  corpus::Span span;
  std::vector<std::string> uses;
  bool is_function = false;
};

struct Cuda {
  std::vector<std::string> includes;  // as written, each once
  std::vector<CudaItem> items;        // in the order of the source
};

class ParsedFile {
 public:
  corpus::SourceFile source;
  Language language = Language::none;
  Python python;
  Cuda cuda;
  std::vector<PendingUnit> units;
  std::vector<PendingLaunch> launches;
};

}  // namespace kw::harvest
