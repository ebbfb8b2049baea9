// NewFile: a file that appears under its name only when it is whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace kw {

// Written to a neighbour, which is removed unless finish() was reached.
class NewFile {
 public:
  static Result<NewFile> create(const std::filesystem::path& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Result<> write(std::string_view bytes);
  // On disk, and under its own name.
  Result<> finish();
  // Where it lies until then; written bytes are there after flush().
  const std::filesystem::path& neighbour() const { return neighbour_; }
  Result<> flush();

 private:
  NewFile(std::filesystem::path path, std::filesystem::path neighbour, Fd fd)
      : path_(std::move(path)), neighbour_(std::move(neighbour)), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  std::filesystem::path neighbour_;  // empty: nothing to remove
  Fd fd_;
  std::string buffer_;
};

}  // namespace kw
