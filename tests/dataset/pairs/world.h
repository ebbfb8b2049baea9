// Units of a few lines, in the form of the harvest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataset/units/unit.h"

namespace kw::pairs::test {

// A file with `before` and `after` around the text; the signature ends with the first `signature_end`.
struct Source {
  std::string before = "import triton\n\n";
  std::string text;
  std::string after = "\nlast = 1\n";
  std::string signature_end = ":\n";
};

corpus::Unit unit_of(corpus::UnitKind kind, const std::string& name, const Source& source);

// Units that differ for the matcher only by name, parameters, text and path.
struct Function {
  corpus::UnitKind kind = corpus::UnitKind::triton;
  std::string name;
  std::vector<std::string> parameters;
  std::string text;
  std::string path = "norm.py";
  std::string launcher;
};

corpus::Unit unit_of(const Function& function);

// The scale kernel in which most tests cut holes.
Source scale_source();

}  // namespace kw::pairs::test
