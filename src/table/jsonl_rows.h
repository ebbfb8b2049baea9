// Rows of JSON lines.
#pragma once

#include <memory>
#include <string>

#include "table/rows.h"
#include "table/rows_indexed.h"

namespace kw::table {

// One object a line. Columns are settled by the first line that holds an object; blank lines are passed over.
Result<std::unique_ptr<TextRows>> open_jsonl(const std::string& path, const ReadOptions& options);

// The same of a file that is open already; errors give it this name.
Result<std::unique_ptr<TextRows>> jsonl_rows(const std::string& name, TextFile file,
                                             const ReadOptions& options);

class JsonlRows : public IndexedRows {
 public:
  // Lines come from the source; rows are read again from the file, at the same offsets.
  JsonlRows(std::string name, Fd file, RecordSource source);

  void settle(std::vector<std::string> found, Columns columns) {
    found_ = std::move(found);
    columns_ = std::move(columns);
  }

 protected:
  Result<TextRow> parse(std::string_view text, Scratch& scratch) const override;
};

}  // namespace kw::table
