// The names that a piece of Python defines, and those that it takes from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "harvest/parsed_file.h"
#include "harvest/walk.h"

namespace kw::harvest {

struct Names {
  std::vector<std::string> defines;  // in the piece's own scope; sorted, each once
  std::vector<std::string> uses;     // of no scope inside; with their attributes; sorted, each once
  std::vector<Import> imports;       // in the piece's own scope
  std::vector<Import> nested_imports;
};

Names names_of(Node piece, std::string_view code);

}  // namespace kw::harvest
