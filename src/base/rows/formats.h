// The formats of rows: CSV (RFC 4180), JSON lines, and Parquet files or JSON lists, which are converted to
// JSON lines so that they can be read again by number.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/rows/rows.h"
#include "base/rows/rows_indexed.h"

namespace kw::table {

// Newlines within quotes do not end a record.
class CsvCutter : public Cutter {
 public:
  std::size_t end_of_record(std::string_view piece) override;
  void restart() override { state_ = State::field; }

 private:
  enum class State { field, plain, quoted, quote };  // quote: one was seen within quotes

  State state_ = State::field;
};

// The fields of one record, without its newline. A quote inside an unquoted field is text, and so are
// characters between a closing quote and the comma. Error: an unclosed quote.
Result<> csv_fields(std::string_view record, std::vector<std::string>& fields);

// The first record contains the column names.
Result<std::unique_ptr<TextRows>> open_csv(const std::string& path, const ReadOptions& options);

// One object per line. The first object determines the columns; skips blank lines.
Result<std::unique_ptr<TextRows>> open_jsonl(const std::string& path, const ReadOptions& options);

// The same for an open file; errors use this name.
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

// next() writes the rows to options.spill (a folder; empty: the system's).
Result<std::unique_ptr<TextRows>> open_parquet(const std::string& path, const ReadOptions& options);
// The bytes of the file's footer, which name its columns, at most 16 MiB; empty if it cannot be read.
std::string parquet_footer(const std::string& path);

}  // namespace kw::table
