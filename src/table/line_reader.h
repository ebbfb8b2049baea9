// Lines of a file or a pipe, with a bound on their length.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace kw {

struct Line {
  std::size_t number = 0;  // from 1
  std::string text;        // without the newline; empty when too_long
  bool too_long = false;   // over the bound: it was passed over, not kept
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

// The file's lines; an error for a directory or a missing file.
Result<LineReader> open_lines(const std::string& path, std::size_t max_bytes = LineReader::default_max);

}  // namespace kw
