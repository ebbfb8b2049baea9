// Rows of which every good one's place in the file is remembered: 12 bytes a row.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "table/rows.h"
#include "table/rows_columns.h"
#include "table/rows_records.h"

namespace kw::table {

// What taking a row apart needs again and again.
struct Scratch {
  std::vector<std::string> fields;
  std::unique_ptr<unsigned char[]> memory;
};

// A file that can be read at any place, and where its text begins: behind the mark that some editors put
// first.
struct TextFile {
  Fd fd;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// Error: missing, or no regular file.
Result<TextFile> open_text(const std::string& path);

// A file of its own in the folder, or in the system's for temporary files. It has no name: it is gone when it
// is closed.
Result<Fd> nameless_file(const std::filesystem::path& folder);

// As is_utf8, and fast where the bytes are ASCII.
bool is_text(std::string_view bytes);

class IndexedRows : public TextRows {
 public:
  const std::string& file() const override { return name_; }
  Result<std::optional<TextRowOrError>> next() override;
  std::uint64_t count() const override { return offsets_.size(); }
  Result<TextRow> at(std::uint64_t number) const override;
  Result<std::string> raw(std::uint64_t number) const override;
  std::vector<std::string> columns() const override { return found_; }

 protected:
  IndexedRows(std::string name, Fd fd, std::uint64_t longest)
      : name_(std::move(name)), fd_(std::move(fd)), longest_(longest) {}
  void read_from(std::unique_ptr<RecordReader> reader) { reader_ = std::move(reader); }

  // Called from several threads.
  virtual Result<TextRow> parse(std::string_view text, Scratch& scratch) const = 0;
  // What went wrong with the whole file, once its end was met.
  virtual Result<> at_end() { return {}; }

  std::string name_;
  Fd fd_;  // where rows are read again
  std::uint64_t longest_;
  std::unique_ptr<RecordReader> reader_;
  std::vector<std::string> found_;
  Columns columns_;
  std::uint64_t header_ = 0;  // records before the first row

 private:
  RowError bad(const Record& record, const Error& error) const;

  std::deque<std::uint64_t> offsets_;
  std::deque<std::uint32_t> lengths_;
  Scratch scratch_;
};

}  // namespace kw::table
