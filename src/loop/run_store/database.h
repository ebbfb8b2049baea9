// run.db: the SQLite file of a run, with RunInfo, its settings and versions. They decide whether the run
// may be resumed.
#pragma once

#include <boost/json/object.hpp>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::store {

// RunInfo: settings and versions of a run.
struct RunInfo {
  boost::json::object settings;  // the identity of the run: a resume with others is refused
  std::string config_toml;       // all resolved settings
  std::string program_version;
  std::string git_revision;
  std::string created_at;  // ISO 8601, UTC; set by the store
};

}  // namespace kw::store

namespace SQLite {
class Database;
}

namespace kw::store {

// Creates missing file and tables. An error if the file is not a run, is damaged, or is newer.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::filesystem::path& path);

// Opens without changes, also while another program writes the file, and on a read-only file system.
Result<std::unique_ptr<SQLite::Database>> open_database_to_read(const std::filesystem::path& path);

// The error of SQLite during an action ("write", "read"), with the remedy.
Error database_error(const std::filesystem::path& path, const char* did, const std::exception& cause);

// Renames run.db to run.db.1, or to the next free number, with its write-ahead log. Returns the new path;
// empty if there is no run.db.
Result<std::filesystem::path> move_aside(const std::filesystem::path& path);

// Now, as ISO 8601 with microseconds, UTC.
std::string utc_now();

// "model.name: a → b", one line per differing setting, objects member by member; empty if all are equal.
std::vector<std::string> differences(const boost::json::object& was, const boost::json::object& now);

// Stores the information of a new run; for an existing run, an error lists the differences.
Result<> settle_identity(SQLite::Database& database, const std::filesystem::path& path, const RunInfo& info);

// Throws exceptions of SQLiteCpp.
RunInfo read_info(SQLite::Database& database);

}  // namespace kw::store
