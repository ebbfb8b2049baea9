// Rows of JSON objects: lines of a file, elements of a list, rows of a Parquet file. An unusable row is an
// item of the sequence, so that later rows are still read.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw {

// An unusable row: an item of the sequence, so that later rows are still read.
struct RowError {
  std::string file;
  std::size_t row = 0;  // from 1; 0: the whole file
  std::string what;
  std::string remedy;
};

// "tasks.jsonl, row 3: not JSON ... (remedy)"
std::string describe(const RowError& error);

// Reads lines of a file or a pipe, with a limit on their length.
struct Line {
  std::size_t number = 0;  // from 1
  std::string text;        // without the newline; empty when too_long
  bool too_long = false;   // over the limit: its text was skipped
};

class LineReader {
 public:
  static constexpr std::size_t default_max = std::size_t{64} << 20;

  explicit LineReader(Fd fd, std::string name, std::size_t max_bytes = default_max)
      : fd_(std::move(fd)), name_(std::move(name)), max_bytes_(max_bytes) {}

  Result<std::optional<Line>> next();

 private:
  Result<bool> fill();
  void take(std::string_view piece, Line& line) const;

  Fd fd_;
  std::string name_;
  std::size_t max_bytes_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
};

// The file's lines, or those of standard input for "-"; an error for a directory or a missing file.
Result<LineReader> open_lines(const std::string& path, std::size_t max_bytes = LineReader::default_max);

// Rows of JSON objects: lines of a file, elements of a list, rows of a Parquet file.
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
  // Whether the number of a row is that of its line in the file.
  virtual bool rows_are_lines() const { return false; }
};

// One object per line; skips blank lines.
Result<std::unique_ptr<RowReader>> read_jsonl(const std::string& path);

// One JSON list of objects, read completely into memory.
Result<std::unique_ptr<RowReader>> read_json_list(const std::string& path);

// The helper that reads Parquet.
struct ParquetHelper {
  std::string python;  // the interpreter, which needs pyarrow
  std::string script;  // parquet_rows.py
};

// All columns, or the named ones that the file has.
Result<std::unique_ptr<RowReader>> read_parquet(const std::string& path, const ParquetHelper& helper,
                                                const std::string& columns = "");

// Rows by the file's form: Parquet by its first bytes, a JSON list by its first character, else JSON Lines.
// `columns` names the wanted columns of a Parquet file; empty: all. A file without rows is an error. "-" is
// standard input, which cannot be Parquet.
Result<std::unique_ptr<RowReader>> open_rows(const std::string& path, const ParquetHelper& helper,
                                             const std::string& columns = "");

// The Parquet files of a folder and up to three levels below, by name; skips hidden folders.
std::vector<std::string> parquet_files_below(const std::string& folder);

// One row from a line of text.
RowOrError parse_row(const std::string& file, const Line& line);

}  // namespace kw
