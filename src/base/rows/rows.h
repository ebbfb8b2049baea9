// Rows of prompt and completion: CSV, JSON lines, Parquet. Finds their columns, reads them in order and again
// by number, and writes them.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"

namespace kw::table {

// Rows of prompt and completion: CSV, JSON lines, Parquet. Reads them in order and again by number, and
// writes them.
struct TextRow {
  std::string prompt;  // a list of messages is joined: contents, with a newline between
  std::string completion;
  boost::json::object rest;  // the other columns; of CSV all text
};

using TextRowOrError = std::variant<TextRow, RowError>;

struct ReadOptions {
  std::string prompt = "prompt";
  std::string completion = "completion";
  bool single_text =
      false;  // a file whose rows have one text column ("text", "content", "code"): the completion
  std::uint64_t longest_row_bytes = std::uint64_t{64} << 20;
  // The folder for converted rows of a Parquet file; empty: the system's.
  std::filesystem::path spill = {};
  ParquetHelper parquet = {};
};

// One file of rows. next() is for one thread; several threads may call at() after next() has reached the
// end.
class TextRows {
 public:
  virtual ~TextRows() = default;
  virtual const std::string& file() const = 0;
  // The next row or bad row; empty at the end.
  virtual Result<std::optional<TextRowOrError>> next() = 0;
  // The good rows from next(), counted from 0.
  virtual std::uint64_t count() const = 0;
  virtual Result<TextRow> at(std::uint64_t number) const = 0;
  // The unchanged text of the row for copying: a CSV record or a JSON line, without its newline.
  virtual Result<std::string> raw(std::uint64_t number) const = 0;
  virtual std::vector<std::string> columns() const = 0;
};

// By the file's extension: .csv, .jsonl (.json lines), .parquet.
Result<std::unique_ptr<TextRows>> open_rows(const std::string& path, const ReadOptions& options);

// A CSV record with its newline: RFC 4180, fields quoted where they must be.
std::string csv_record(const std::vector<std::string_view>& fields);

// Finds the columns of prompt and completion, and reads their values.
struct Columns {
  std::string prompt;  // empty: rows have a completion only
  std::string completion;
};

// The error lists the columns of the file, and the flags that name others.
Result<Columns> choose_columns(const std::string& file, const std::vector<std::string>& found,
                               const ReadOptions& options);

// A string unchanged; a list of messages, {"role": ..., "content": ...}, as their contents with a newline
// between. A message's content may be a list of parts, {"type": "text", "text": ...}.
Result<std::string> text_of(const boost::json::value& value);

}  // namespace kw::table
