// Records of a file in order: where each begins, how long it is, and its text, with a bound on the memory one
// takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace kw::table {

// Says where a record ends. It remembers what it has seen, so that a record may come in pieces.
class Cutter {
 public:
  virtual ~Cutter() = default;
  // One past the newline that ends the record, or npos when the piece ends first.
  virtual std::size_t end_of_record(std::string_view piece) = 0;
  // The next piece begins a record.
  virtual void restart() {}
};

class LineCutter : public Cutter {
 public:
  std::size_t end_of_record(std::string_view piece) override;
};

struct Record {
  std::uint64_t number = 0;  // from 1
  std::uint64_t offset = 0;  // in the file
  std::string_view text;     // without its newline, until the next record is read; empty when too_long
  bool too_long = false;     // over the bound: it was passed over, not kept
};

struct RecordSource {
  int fd = -1;
  std::string name;             // for errors
  std::uint64_t max_bytes = 0;  // of one record
  std::uint64_t begin = 0;      // where in the file the descriptor stands
  int copy = -1;                // where all that is read is written too; -1: nowhere
};

class RecordReader {
 public:
  RecordReader(RecordSource source, std::unique_ptr<Cutter> cutter)
      : source_(std::move(source)), cutter_(std::move(cutter)), offset_(source_.begin) {}

  Result<std::optional<Record>> next();

 private:
  Result<bool> fill();
  void make_room();
  Record cut(std::size_t end, bool too_long);

  RecordSource source_;
  std::unique_ptr<Cutter> cutter_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;      // of the record that is being read
  std::size_t filled_ = 0;     // bytes of the buffer that hold something
  std::uint64_t offset_;       // of buffer_[0] in the file
  std::uint64_t dropped_ = 0;  // bytes of this record that are gone already
  std::uint64_t number_ = 0;
};

}  // namespace kw::table
