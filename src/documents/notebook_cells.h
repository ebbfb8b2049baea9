// Where the cells of a notebook lie in its JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "corpus/place.h"

namespace kw::documents {

struct Cell {
  std::string source;  // whole, with its newlines
  corpus::Span span;   // of the JSON value that holds it
};

struct Notebook {
  std::string language;     // of its kernel; "python" where it says none
  std::vector<Cell> cells;  // those with code
};

Result<Notebook> read_notebook(std::string_view json);

}  // namespace kw::documents
