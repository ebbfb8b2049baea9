// Reads several files of rows as one list, chooses among similar rows, and copies rows into one new file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/rows/rows.h"
#include "code/similarity/near.h"
#include "dataset/build/python.h"

namespace kw::dataset {

// Reads several files of rows as one list.
class RowFiles {
 public:
  using EachRow = std::function<Result<>(std::uint32_t number, table::TextRow row)>;
  using EachBad = std::function<void(const RowError& error)>;

  // Reads the file to its end and continues the numbering of rows.
  Result<> add(const std::string& path, const table::ReadOptions& options, const EachRow& each,
               const EachBad& bad);

  std::uint32_t count() const { return first_.empty() ? 0 : first_.back() + last_count_; }
  // "rows.csv, row 3": the number counts the file's good rows from 1.
  std::string name(std::uint32_t number) const;
  // May be called from several threads.
  Result<table::TextRow> at(std::uint32_t number) const;
  Result<std::string> raw(std::uint32_t number) const;
  const table::TextRows& file_of(std::uint32_t number) const { return *files_[index_of(number)]; }
  std::size_t files() const { return files_.size(); }
  const table::TextRows& file(std::size_t index) const { return *files_[index]; }

 private:
  std::size_t index_of(std::uint32_t number) const;

  std::vector<std::unique_ptr<table::TextRows>> files_;
  std::vector<std::uint32_t> first_;  // number of each file's first row
  std::uint32_t last_count_ = 0;
};

// Messages of bad rows that a tally keeps; it counts the others.
constexpr std::size_t bad_rows_told = 10;

// Chooses among rows that resemble each other.
struct DroppedRow {
  std::uint32_t row = 0;
  std::uint32_t kept = 0;
  double jaccard = 1;             // of prompt and completion together
  double completion_jaccard = 1;  // of the completions
  bool exact = false;
  bool renamed = false;  // equal but for comments, layout and names
};

// The keys of the comparison of two rows; a text is the output of near::join().
std::string text_of(const table::TextRow& row);

// Visits the rows of each connected group in the order of `better`, and drops a row that resembles a kept
// row by both measures. Always keeps `fixed` rows.
Result<std::vector<DroppedRow>> choose_rows(const RowFiles& files, const std::vector<near::Pair>& pairs,
                                            const near::Parameters& parameters,
                                            const std::function<bool(std::uint32_t, std::uint32_t)>& better,
                                            const std::function<bool(std::uint32_t)>& fixed);

// Copies rows of files into one new file.
// A column that a copy has and its source has not.
struct AddedColumn {
  std::string name;
  std::function<boost::json::value(const table::TextRow& row)> value;
};

struct CopyTarget {
  std::filesystem::path out;    // .csv, .jsonl, .json or .parquet
  std::filesystem::path spill;  // a folder for temporary files
  PythonTools python;
  std::string prompt = "prompt";  // names of the two columns
  std::string completion = "completion";
  std::vector<std::string> columns = {};  // to write; empty: those of the first file
  std::optional<AddedColumn> added = {};  // with all columns
  bool messages = false;  // a column "messages" instead of the two: the user's message and the answer
};

// The rows that `next` returns, in that order. Copies a row unchanged if its file has the target's format
// and, for CSV, the columns of the first file; else writes its columns again.
Result<> copy_rows(const RowFiles& files, const std::function<std::optional<std::uint32_t>()>& next,
                   const CopyTarget& target);

}  // namespace kw::dataset
