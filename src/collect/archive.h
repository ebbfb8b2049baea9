// One archive's entries, one after the other: zip, and tar under gzip, bzip2, xz, zstd. Nothing is written
// anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::collect {

struct Entry {
  enum class Kind { file, folder, link, special };
  std::string name;  // as the archive has it: any bytes
  Kind kind = Kind::file;
  std::optional<std::uint64_t> size;  // as the archive says, unpacked
  bool encrypted = false;
  bool streamed = false;  // passing over it unpacks it all the same
};

struct Unpacked {
  enum class Status { whole, too_large, damaged };
  Status status = Status::whole;
  std::string bytes;
  std::string detail;  // of what is damaged
};

class Archive {
 public:
  // The bytes must outlive the archive.
  static Result<Archive> open(std::string_view bytes);

  // Nothing at the end. An error ends the archive.
  Result<std::optional<Entry>> next();
  // The bytes of the entry that next() gave; what is over the bound is too large.
  Unpacked read(std::uint64_t max_bytes);

 private:
  struct Close {
    void operator()(void* archive) const;
  };
  explicit Archive(std::unique_ptr<void, Close> archive) : archive_(std::move(archive)) {}

  std::unique_ptr<void, Close> archive_;
};

// By its name; what it is inside is seen when it is opened.
bool is_archive_name(std::string_view path);

}  // namespace kw::collect
