// Connections to SQLite files of ours: opened, checked, and their errors in our words.
#pragma once

#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace SQLite {
class Database;
}

namespace kw::sqlite {

// A kind of file: how it is told from others, and what its user can do about trouble.
struct Kind {
  int application_id = 0;  // says that an SQLite file is of this kind
  int format = 1;          // of the tables
  int page_bytes = 4096;   // of a new file
  const char* tables = "";
  std::span<const char* const> upgrades{};  // the first leads from format 1 to 2, and so on
  const char* when_full = "make sure that the disk is sound and has space";
  const char* when_damaged = "";
  const char* when_foreign = "move the file away, or name another";
  const char* when_newer = "use the version that made it";
};

// Makes the file and its tables where they are missing, and brings those of an older format up to date. An
// error for what is of another kind, damaged, or newer. What was committed outlives a power cut.
Result<std::unique_ptr<SQLite::Database>> open(const std::filesystem::path& path, const Kind& kind);

// Changes nothing, also where another program writes it, and on a file system that cannot be written.
Result<std::unique_ptr<SQLite::Database>> open_to_read(const std::filesystem::path& path, const Kind& kind);

// What SQLite reported while it did something ("write", "read"), with what to do about it.
Error error_of(const std::filesystem::path& path, const Kind& kind, const char* did,
               const std::exception& cause);

}  // namespace kw::sqlite
