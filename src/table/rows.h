// Rows of prompt and completion: CSV, JSON lines, Parquet, read in order and again by number, and written.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "table/row_error.h"
#include "table/row_reader.h"

namespace kw::table {

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
  // The folder where a Parquet file's rows are laid out, so that they can be read again; empty: the system's.
  std::filesystem::path spill = {};
  ParquetHelper parquet = {};
};

// One file of rows. next() is for one thread; at() may be called from several once next() has met the end.
class TextRows {
 public:
  virtual ~TextRows() = default;
  virtual const std::string& file() const = 0;
  // The next row or bad row; nothing at the end.
  virtual Result<std::optional<TextRowOrError>> next() = 0;
  // The good rows that next() has given, counted from 0.
  virtual std::uint64_t count() const = 0;
  virtual Result<TextRow> at(std::uint64_t number) const = 0;
  // The row as it stands in the file, to be copied: a CSV record or a JSON line, without its newline.
  virtual Result<std::string> raw(std::uint64_t number) const = 0;
  virtual std::vector<std::string> columns() const = 0;
};

// By the file's ending: .csv, .jsonl (.json lines), .parquet.
Result<std::unique_ptr<TextRows>> open_rows(const std::string& path, const ReadOptions& options);

// A CSV record with its newline: RFC 4180, fields quoted where they must be.
std::string csv_record(const std::vector<std::string_view>& fields);

}  // namespace kw::table
