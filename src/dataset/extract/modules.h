// The modules of one origin, name resolution through imports, and names that Python itself and the usual
// libraries provide.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dataset/extract/parsed_file.h"

namespace kw::harvest {

// Names that Python itself and the usual libraries provide.
bool is_builtin(std::string_view name);

// A module of the standard library, torch, triton, numpy or packaging, by its first part.
bool is_known_module(std::string_view module);

// Whether kernels are written with this module, by its first part.
bool is_kernel_language(std::string_view module);

using Files = std::vector<std::shared_ptr<const ParsedFile>>;

// The definition of a path such as "utils.kernel.warmup".
struct Found {
  enum class Kind {
    statement,  // `name` in `file`, defined by `statements`
    module,     // all of it is a module of the origin
    external,   // `import` brings it, from elsewhere
    builtin,
    missing,
  };
  Kind kind = Kind::missing;
  std::size_t parts = 1;  // of the path that lead to it
  std::size_t file = 0;
  std::string name;
  std::vector<std::size_t> statements;
  Import import;
};

class Modules {
 public:
  explicit Modules(const Files& files);

  // The path as written in the file.
  Found resolve(std::size_t file, std::string_view path) const;

 private:
  struct Search;
  using Statements = std::unordered_map<std::string, std::vector<std::size_t>>;

  void add_file(std::size_t file);
  bool exists(const std::string& base) const { return modules_.contains(base) || folders_.contains(base); }
  std::string locate(std::size_t file, std::string_view module) const;
  std::string locate_relative(std::size_t file, std::string_view module) const;
  bool find_in_file(std::size_t file, Search& search) const;
  bool find_in_module(const std::string& base, Search& search) const;
  bool follow(std::size_t file, const Import& import, Search& search) const;
  bool find_among(const std::vector<std::size_t>& statements, std::size_t file, Search& search) const;
  bool find_nested(std::size_t file, Search& search) const;
  bool find_in_stars(std::size_t file, Search& search) const;

  const Files& files_;
  std::unordered_map<std::string, std::size_t> modules_;  // "pkg/utils" → file
  std::unordered_set<std::string> folders_;
  std::unordered_map<std::string, std::string> roots_;  // top package → its folder with '/', or ""
  std::vector<Statements> names_;
  std::vector<Statements> nested_;          // of functions that make kernels
  std::vector<std::vector<Import>> stars_;  // `from module import *`
};

}  // namespace kw::harvest
