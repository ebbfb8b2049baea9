// Reads the entries of one archive in order, without writing files: zip, and tar under gzip, bzip2, xz, zstd.
// Entry names are untrusted and must be validated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace kw::collect {

// Validates names of archive entries, which are untrusted.
struct SafePath {
  std::string path;    // with '/', relative, without "." in it
  std::string reason;  // empty: the path is good; else "bad name" or "leads outside"
};

SafePath safe_path(std::string_view name);

// A memory-mapped file.
class MappedFile {
 public:
  // An error if the path is not a regular file.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, std::size_t size) : data_(data), size_(size) {}

  const char* data_;
  std::size_t size_;
};

// Reads one archive's entries in order: zip, and tar under gzip, bzip2, xz, zstd. Writes no files.
struct Entry {
  enum class Kind { file, folder, link, special };
  std::string name;  // as in the archive: any bytes
  Kind kind = Kind::file;
  std::optional<std::uint64_t> size;  // unpacked, as stated in the archive
  bool encrypted = false;
  bool streamed = false;  // skipping the entry also unpacks it
};

struct Unpacked {
  enum class Status { whole, too_large, damaged };
  Status status = Status::whole;
  std::string bytes;
  std::string detail;  // about the damage
};

class Archive {
 public:
  // The bytes must outlive the archive.
  static Result<Archive> open(std::string_view bytes);

  // Empty at the end. An error ends the archive.
  Result<std::optional<Entry>> next();
  // The bytes of the entry from next(), or the report that it exceeds the limit.
  Unpacked read(std::uint64_t max_bytes);

 private:
  struct Close {
    void operator()(void* archive) const;
  };
  explicit Archive(std::unique_ptr<void, Close> archive) : archive_(std::move(archive)) {}

  std::unique_ptr<void, Close> archive_;
};

// Decides by the name; opening the archive determines its actual format.
bool is_archive_name(std::string_view path);

}  // namespace kw::collect
