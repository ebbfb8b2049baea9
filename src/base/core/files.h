// Files: owned descriptors and memory files, reads and writes of complete files, and files that get their
// names only when they are complete. Errors name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/core/result.h"

namespace kw {

// Closes what it owns. -1 owns nothing.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);
  Result<Fd> duplicate() const;

 private:
  int fd_ = -1;
};

// Writes all bytes; false with errno on failure.
bool write_all(int fd, std::string_view bytes);

// Fills the bytes from an offset of the file. Returns how many there were: fewer at the end of the file;
// empty with errno on failure.
std::optional<std::size_t> read_at(int fd, std::uint64_t offset, std::span<char> bytes);

// A sealed, read-only memory file with these bytes, to pass code to other processes.
Result<Fd> memory_file(std::string_view name, std::string_view bytes);

// The bytes of a memory file; an error if it has more than max_bytes.
Result<std::string> read_memory_file(const Fd& fd, std::size_t max_bytes);

// The file's bytes; an error for a directory, a missing file, or one over max_bytes.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t max_bytes = std::size_t{1} << 30);

// As read_file, without the byte order mark of some editors; an error unless the bytes are UTF-8.
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::size_t max_bytes = std::size_t{1} << 30);

// Writes a temporary file in the same folder and renames it, so that readers never see a partial file.
Result<> write_file(const std::filesystem::path& path, std::string_view bytes);

// Writes a temporary file in the same folder, and removes it unless finish() was called.
class NewFile {
 public:
  static Result<NewFile> create(const std::filesystem::path& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Result<> write(std::string_view bytes);
  // Syncs the file to disk and gives it its final name.
  Result<> finish();
  // The path of the temporary file; it contains the written bytes after flush().
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
