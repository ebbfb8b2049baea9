// Code that a unit needs to be self-contained, and launches of CUDA kernels across the origin.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "dataset/extract/modules.h"

namespace kw::harvest {

// Code that a Python unit needs to be self-contained.
struct Context {
  std::string text;                   // in an order that can be executed
  std::string own_imports;            // lines that import what the text defines, where a file has them so
  std::vector<std::string> licences;  // SPDX of the other files it was taken from, "" where unknown
  std::vector<std::string> helpers;   // functions and classes in it, sorted
  std::vector<std::string> missing;   // sorted
  bool uses_kernels = false;          // some of it is a kernel or launches one
};

// A definition at module level that launches a kernel.
struct LauncherPlace {
  std::size_t file = 0;
  std::size_t statement = 0;
};

// The code that the unit and its launcher need together, without the two.
Context context_with_launcher(const Modules& modules, const Files& files, std::size_t file,
                              const PendingUnit& unit, const LauncherPlace& launcher);

Context context_of(const Modules& modules, const Files& files, std::size_t file, const PendingUnit& unit);

// The definitions that the names of the first file stand for, and the code that they need. Names in `given`
// are defined elsewhere, and are not followed.
Context context_of_names(const Modules& modules, const Files& files, const std::vector<std::string>& names,
                         const std::vector<std::string>& given);

// Resolves names of CUDA units in their own file, and launches across the origin.
class CudaOrigin {
 public:
  explicit CudaOrigin(const Files& files);

  // The units of one file, complete except for their ids.
  void link(std::size_t file, std::vector<corpus::Unit>& units) const;

 private:
  struct Kernel {
    std::size_t file = 0;
    std::size_t unit = 0;
    auto operator<=>(const Kernel&) const = default;
  };
  using Items = std::map<std::string, std::vector<std::size_t>, std::less<>>;

  void attach(std::size_t file, const PendingLaunch& launch);
  void add_context(std::size_t file, const PendingUnit& pending, const Items& items,
                   corpus::Unit& unit) const;

  const Files& files_;
  std::map<std::string, std::vector<Kernel>> kernels_;  // by name
  std::map<Kernel, std::vector<corpus::Launch>> launches_;
  std::unordered_set<std::string> names_of_files_;
};

}  // namespace kw::harvest
