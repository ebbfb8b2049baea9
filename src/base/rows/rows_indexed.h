// Splits a file into records with a limit on the memory of one, and stores the offset of every good row: 12
// bytes per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "base/rows/rows.h"

namespace kw::table {

// Finds the end of a record. It keeps state, so that a record may be passed in parts.
class Cutter {
 public:
  virtual ~Cutter() = default;
  // The offset after the newline that ends the record, or npos if the part ends first.
  virtual std::size_t end_of_record(std::string_view piece) = 0;
  // Resets the state: the next part begins a record.
  virtual void restart() {}
};

class LineCutter : public Cutter {
 public:
  std::size_t end_of_record(std::string_view piece) override;
};

struct RawRecord {
  std::uint64_t number = 0;  // from 1
  std::uint64_t offset = 0;  // in the file
  std::string_view text;     // without its newline, until the next record is read; empty when too_long
  bool too_long = false;     // over the limit: its text was skipped
};

struct RecordSource {
  int fd = -1;
  std::string name;             // for errors
  std::uint64_t max_bytes = 0;  // of one record
  std::uint64_t begin = 0;      // the descriptor's offset in the file
  int copy = -1;                // a descriptor that receives a copy of all bytes; -1: none
};

class RecordReader {
 public:
  RecordReader(RecordSource source, std::unique_ptr<Cutter> cutter)
      : source_(std::move(source)), cutter_(std::move(cutter)), offset_(source_.begin) {}

  Result<std::optional<RawRecord>> next();

 private:
  Result<bool> fill();
  void make_room();
  RawRecord cut(std::size_t end, bool too_long);

  RecordSource source_;
  std::unique_ptr<Cutter> cutter_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;      // of the current record
  std::size_t filled_ = 0;     // bytes of the buffer in use
  std::uint64_t offset_;       // of buffer_[0] in the file
  std::uint64_t dropped_ = 0;  // bytes of this record that the buffer no longer has
  std::uint64_t number_ = 0;
};

// Reused data for parsing rows.
struct Scratch {
  std::vector<std::string> fields;
  std::unique_ptr<unsigned char[]> memory;
};

// A file with random access, and the offset of its text after a byte order mark.
struct TextFile {
  Fd fd;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// Error: missing, or not a regular file.
Result<TextFile> open_text(const std::string& path);

// An unnamed temporary file in the folder, or in the system's temporary folder. It disappears when it is
// closed.
Result<Fd> nameless_file(const std::filesystem::path& folder);

// As is_utf8, with a fast path for ASCII.
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

  // Several threads may call it.
  virtual Result<TextRow> parse(std::string_view text, Scratch& scratch) const = 0;
  // The error of the complete file, after its end was reached.
  virtual Result<> at_end() { return {}; }

  std::string name_;
  Fd fd_;  // where rows are read again
  std::uint64_t longest_;
  std::unique_ptr<RecordReader> reader_;
  std::vector<std::string> found_;
  Columns columns_;
  std::uint64_t header_ = 0;  // records before the first row

 private:
  RowError bad(const RawRecord& record, const Error& error) const;

  std::deque<std::uint64_t> offsets_;
  std::deque<std::uint32_t> lengths_;
  Scratch scratch_;
};

}  // namespace kw::table
