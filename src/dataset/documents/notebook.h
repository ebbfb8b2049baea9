// Finds the cells of a notebook in its JSON, and removes magics and shell commands from their code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "dataset/units/unit.h"

namespace kw::documents {

// Finds the cells of a notebook in its JSON.
struct Cell {
  std::string source;  // whole, with its newlines
  corpus::Span span;   // of the JSON value that contains it
};

struct Notebook {
  std::string language;     // of its kernel; "python" if it states none
  std::vector<Cell> cells;  // those with code
};

Result<Notebook> read_notebook(std::string_view json);

// The language of a cell in another language ("%%bash", "%%writefile kernel.cu"); empty: the notebook's
// language.
std::string language_of_cell(std::string_view source);

// Turns lines that begin with a magic or a shell command into comments, so that the rest can be parsed.
// Leaves lines within triple-quoted strings and brackets unchanged.
std::string without_magics(std::string_view source);

}  // namespace kw::documents
