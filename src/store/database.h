// run.db: the SQLite file of a run.
#pragma once

#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

namespace SQLite {
class Database;
}

namespace kw::store {

// Makes the file and its tables where they are missing. An error for what is no run, damaged, or newer.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::filesystem::path& path);

// Changes nothing, also where another program writes it, and on a file system that cannot be written.
Result<std::unique_ptr<SQLite::Database>> open_database_to_read(const std::filesystem::path& path);

// What SQLite reported while it did something ("write", "read"), with what to do about it.
Error database_error(const std::filesystem::path& path, const char* did, const std::exception& cause);

// Moves run.db to run.db.1, or the next number that is free, with its write-ahead log.
Result<> move_aside(const std::filesystem::path& path);

// Now, as ISO 8601 with microseconds, UTC.
std::string utc_now();

}  // namespace kw::store
