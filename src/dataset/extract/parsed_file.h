// The parsed content of one file, before names are resolved in other files. Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dataset/extract/harvest.h"

namespace kw::harvest {

// `from module import name as local`; an empty name means the module itself. `from module import *` has the
// name "*" and no local name. Modules are as written: "..utils".
struct Import {
  std::string local;
  std::string module;
  std::string name;
  std::string submodule;  // `import a.b` binds a, and loads "a.b"
};

// A statement at module level, or inside an if, try or with at module level.
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

// Texts of a launch are cut to so many bytes.
inline constexpr std::size_t longest_caller = 16 * 1024;
inline constexpr std::size_t longest_argument = 2 * 1024;  // calls may be nested in each other's arguments

struct PendingLaunch {
  std::string callee;                // as written: "kernel", "kernels.add"
  std::vector<std::string> aliases;  // values that the caller assigned to that name
  corpus::Launch launch;
  corpus::Span span;
};

struct Decorator {
  std::string name;  // "triton.autotune"
  std::vector<std::string> uses;
};

// A unit with the information from its own file.
struct PendingUnit {
  corpus::Unit unit;
  std::size_t top = 0;
  std::vector<std::string> uses;
  std::vector<Decorator> decorators;
  bool only_if_torch = false;  // counts unless it turns out to launch kernels
};

struct Python {
  std::vector<Top> tops;
  // First the statements of the module, in the order of the source; then those of functions that create
  // kernels. The latter only serve names that have no other definition.
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
  bool has_error = false;  // parts of it are no valid code without the macros that it uses
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
