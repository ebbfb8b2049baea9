// Units made from a few lines, as the harvest would.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "corpus/unit.h"

namespace kw::pairs::test {

// A file with `before` and `after` around the text; the signature ends with the first `signature_end`.
struct Source {
  std::string before = "import triton\n\n";
  std::string text;
  std::string after = "\nlast = 1\n";
  std::string signature_end = ":\n";
};

corpus::Unit unit_of(corpus::UnitKind kind, const std::string& name, const Source& source);

// Units that the matcher tells apart by name, parameters, text and path alone.
struct Function {
  corpus::UnitKind kind = corpus::UnitKind::triton;
  std::string name;
  std::vector<std::string> parameters;
  std::string text;
  std::string path = "norm.py";
  std::string launcher;
};

corpus::Unit unit_of(const Function& function);

// The scale kernel that most tests cut holes in.
Source scale_source();

}  // namespace kw::pairs::test
