// Notebooks: one block a code cell.
#include "documents/forms.h"
#include "documents/magics.h"
#include "documents/notebook_cells.h"

namespace kw::documents {
namespace {

// The line that names the cell's language or file is no part of it.
std::string without_first_line(const std::string& source) {
  std::size_t begin = source.find("%%");
  std::size_t end = source.find('\n', begin);
  return end == std::string::npos ? std::string() : source.substr(end + 1);
}

}  // namespace

Result<CodeBlocks> notebook_blocks(std::string_view text) {
  auto notebook = read_notebook(text);
  if (!notebook) return std::unexpected(notebook.error());
  CodeBlocks found;
  for (const Cell& cell : notebook->cells) {
    std::string language = language_of_cell(cell.source);
    std::string code;
    if (!language.empty()) {
      code = without_first_line(cell.source);
    } else {
      language = notebook->language;
      code = without_magics(cell.source);
    }
    found.push_back(block_of(text, cell.span, std::move(language), std::move(code)));
  }
  return found;
}

}  // namespace kw::documents
