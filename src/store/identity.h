// Whether a run may be gone on with.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/run_info.h"

namespace SQLite {
class Database;
}

namespace kw::store {

// "model.name: a → b", one for each setting that differs, objects member by member; empty where all are
// equal.
std::vector<std::string> differences(const boost::json::object& was, const boost::json::object& now);

// Keeps the information with a new run; for one that is there, an error names what differs.
Result<> settle_identity(SQLite::Database& database, const std::filesystem::path& path, const RunInfo& info);

// Throws what SQLiteCpp throws.
RunInfo read_info(SQLite::Database& database);

}  // namespace kw::store
