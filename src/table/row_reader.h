// Rows of JSON objects: lines of a file, elements of a list, rows of a Parquet file.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "table/line_reader.h"
#include "table/row_error.h"

namespace kw {

struct Row {
  std::size_t number = 0;  // from 1
  boost::json::object fields;
};

using RowOrError = std::variant<Row, RowError>;

class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual Result<std::optional<RowOrError>> next() = 0;
  virtual std::optional<std::size_t> total() const { return {}; }
  virtual const std::string& file() const = 0;
};

// One object a line; blank lines are passed over.
Result<std::unique_ptr<RowReader>> read_jsonl(const std::string& path);

// One JSON list of objects, whole in memory.
Result<std::unique_ptr<RowReader>> read_json_list(const std::string& path);

// How to reach the helper that reads Parquet.
struct ParquetHelper {
  std::string python;  // the interpreter, which needs pyarrow
  std::string script;  // parquet_rows.py
};

// All columns, or those named that the file has.
Result<std::unique_ptr<RowReader>> read_parquet(const std::string& path, const ParquetHelper& helper,
                                                const std::string& columns = "");

// The Parquet files of a folder and up to three folders down, by name; hidden folders are passed over.
std::vector<std::string> parquet_files_below(const std::string& folder);

// One row from a line of text.
RowOrError parse_row(const std::string& file, const Line& line);

}  // namespace kw
