// What the text of a Python unit needs to stand alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harvest/modules.h"

namespace kw::harvest {

struct Context {
  std::string text;                   // in an order that can be executed
  std::vector<std::string> licences;  // SPDX of the other files it was taken from, "" where unknown
  std::vector<std::string> helpers;   // functions and classes in it, sorted
  std::vector<std::string> missing;   // sorted
  bool uses_kernels = false;          // some of it is a kernel or launches one
};

Context context_of(const Modules& modules, const Files& files, std::size_t file, const PendingUnit& unit);

}  // namespace kw::harvest
