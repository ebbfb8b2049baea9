#include "loop/run_store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <set>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/database/database.h"
#include "loop/run_store/tables.h"
#include "types/options.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

constexpr std::array upgrades{from_format_1};

constexpr sqlite::Kind run_kind{
    .application_id = 0x4B57524E,
    .format = 2,
    .tables = tables,
    .upgrades = upgrades,
    .when_full = "check the disk and its free space, then repeat the command to continue",
    .when_damaged = "`sqlite3 run.db .recover` may save its data; --fresh renames it and starts a new run",
    .when_foreign = "name a run folder, or move the file away",
    .when_newer = "use the program version that wrote it, or --fresh"};

}  // namespace

std::string utc_now() {
  auto now = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), (now - seconds).count());
}

Error database_error(const fs::path& path, const char* did, const std::exception& cause) {
  return sqlite::error_of(path, run_kind, did, cause);
}

Result<std::unique_ptr<SQLite::Database>> open_database(const fs::path& path) {
  return sqlite::open(path, run_kind);
}

Result<std::unique_ptr<SQLite::Database>> open_database_to_read(const fs::path& path) {
  if (!fs::exists(path))
    return fail(fmt::format("{} does not exist", path.string()),
                "name a run folder, its run.db, or exported JSON");
  return sqlite::open_to_read(path, run_kind);
}

Result<fs::path> move_aside(const fs::path& path) {
  bool is_there = fs::exists(path);
  auto with = [](fs::path base, const std::string& ending) { return base += ending; };
  int number = 1;
  while (fs::exists(with(path, fmt::format(".{}", number)))) ++number;
  fs::path aside = with(path, fmt::format(".{}", number));
  try {
    // Merges the write-ahead log into a run's file. A file of another kind is moved unchanged.
    SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const SQLite::Exception&) {
  }
  std::error_code error;
  fs::remove(with(path, "-shm"), error);
  for (const char* ending : {"", "-wal"})
    if (fs::exists(with(path, ending))) {
      fs::rename(with(path, ending), with(aside, ending), error);
      if (error)
        return fail(fmt::format("cannot rename {}: {}{}", with(path, ending).string(), error.message(),
                                fs::exists(aside)
                                    ? fmt::format("; {} was renamed to {}", path.string(), aside.string())
                                    : ""),
                    "move the files yourself, or name another --output");
    }
  return is_there ? aside : fs::path();
}

namespace json = boost::json;
namespace {

constexpr std::size_t longest_shown_bytes = 200;

std::string shown(const json::value* value) {
  return value ? shorten(json::serialize(*value), longest_shown_bytes) : "not set";
}

void compare(const std::string& prefix, const json::object& was, const json::object& now,
             std::vector<std::string>& found) {
  std::set<std::string> names;
  for (const json::object* each : {&was, &now})
    for (const auto& member : *each) names.insert(std::string(member.key()));
  for (const std::string& name : names) {
    const json::value* before = was.if_contains(name);
    const json::value* after = now.if_contains(name);
    if (before && after && before->is_object() && after->is_object())
      compare(prefix + name + ".", before->get_object(), after->get_object(), found);
    else if (!before || !after || canonical_json(*before) != canonical_json(*after))
      found.push_back(fmt::format("{}{}: {} → {}", prefix, name, shown(before), shown(after)));
  }
}

void add_run(SQLite::Database& database, const RunInfo& info, const std::string& now) {
  SQLite::Statement add(database, "INSERT INTO run VALUES (?, ?, ?, ?, ?)");
  add.bind(1, json::serialize(info.settings));
  add.bind(2, info.config_toml);
  add.bind(3, info.program_version);
  add.bind(4, info.git_revision);
  add.bind(5, now);
  add.exec();
}

void add_opening(SQLite::Database& database, const RunInfo& info, const std::string& now) {
  SQLite::Statement add(database, "INSERT INTO openings VALUES (?, ?, ?, ?)");
  add.bind(1, now);
  add.bind(2, info.program_version);
  add.bind(3, info.git_revision);
  add.bind(4, info.config_toml);
  add.exec();
}

}  // namespace

std::vector<std::string> differences(const json::object& was, const json::object& now) {
  std::vector<std::string> found;
  compare("", was, now, found);
  return found;
}

RunInfo read_info(SQLite::Database& database) {
  RunInfo info;
  SQLite::Statement row(database,
                        "SELECT settings, config_toml, program_version, git_revision, created_at FROM run");
  if (!row.executeStep()) return info;
  if (auto settings = parse_json(row.getColumn(0).getString()); settings && settings->is_object())
    info.settings = std::move(settings->get_object());
  info.config_toml = row.getColumn(1).getString();
  info.program_version = row.getColumn(2).getString();
  info.git_revision = row.getColumn(3).getString();
  info.created_at = row.getColumn(4).getString();
  return info;
}

namespace {

// An option of judging that a run's file lacks came later than the run, which had its default.
json::object with_later_options(json::object stored, const json::object& now) {
  for (const auto& [name, value] : verdict_settings_json(Settings{}))
    if (now.contains(name)) stored.emplace(name, value);
  return stored;
}

}  // namespace

Result<> settle_identity(SQLite::Database& database, const std::filesystem::path& path, const RunInfo& info) {
  try {
    SQLite::Transaction transaction(database);
    std::string now = utc_now();
    bool there = database.execAndGet("SELECT count(*) FROM run").getInt() > 0;
    if (!there) add_run(database, info, now);
    const json::object stored = with_later_options(read_info(database).settings, info.settings);
    if (auto found = differences(stored, info.settings); !found.empty())
      return fail(fmt::format("the run in {} has different settings:\n  {}", path.parent_path().string(),
                              fmt::join(found, "\n  ")),
                  "give its settings to continue it, another --output, or --fresh to start a new run");
    add_opening(database, info, now);
    transaction.commit();
    return {};
  } catch (const std::exception& error) {
    return std::unexpected(database_error(path, "open", error));
  }
}

}  // namespace kw::store
