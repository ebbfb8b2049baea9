// Splits JSON text into its outermost objects without parsing them: a list, consecutive objects, or lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw {

class ObjectCutter {
 public:
  explicit ObjectCutter(Fd fd, std::size_t most_bytes = std::numeric_limits<std::size_t>::max())
      : fd_(std::move(fd)), most_bytes_(most_bytes) {}

  // The next object's text; empty at the end. An error if the file has other values than objects, ends inside
  // an object, or has a larger one than allowed.
  Result<std::string> next();

  // Whether a list has begun and not ended; at the end of the file: it was cut off between two objects.
  bool is_in_list() const { return in_list_; }

  // Of the object that next() returned.
  std::uint64_t offset() const { return offset_; }

 private:
  bool ends(char c);
  Result<bool> fill();

  Fd fd_;
  std::size_t most_bytes_;
  std::string chunk_;
  std::size_t at_ = 0;
  std::uint64_t chunk_offset_ = 0;
  std::uint64_t offset_ = 0;
  std::size_t depth_ = 0;
  bool in_list_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace kw
