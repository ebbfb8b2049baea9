#include "store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>

#include "store/tables.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

constexpr int application_id = 0x4B57524E;  // says that an SQLite file is a run
constexpr int format = 1;                   // of the tables
constexpr std::uintmax_t most_checked_bytes = std::uintmax_t{256} << 20;

std::string remedy_for(int code) {
  switch (code) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return "make sure that the disk is sound and has space, and give the same command again: it goes on";
    case SQLITE_CORRUPT:
      return "`sqlite3 run.db .recover` may save what is in it; --fresh moves it aside and starts anew";
    case SQLITE_NOTADB:
      return "name a run folder, or move the file away";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "look at the rights of the file and its folder";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "close the other program that works on it";
    default:
      return {};
  }
}

// As a URI, in which nothing of the path has a meaning.
std::string uri(const fs::path& path, const char* query) {
  std::string text = "file:";
  for (char c : fs::absolute(path).string())
    if (c == '?' || c == '#' || c == '%')
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      text += c;
  return text + query;
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

// Whose file is it, and can this version read it?
Result<> check_format(SQLite::Database& database, const fs::path& path) {
  if (pragma(database, "application_id") != application_id)
    return fail(fmt::format("{} is an SQLite file of another program", path.string()),
                "name a run folder, or move the file away");
  int found = pragma(database, "user_version");
  if (found > format)
    return fail(fmt::format("{} was written by a newer version (format {}, this one knows {})", path.string(),
                            found, format),
                "use the version that made it, or --fresh");
  return {};
}

// Looks through a file of moderate size; damage in a larger one shows when it is met.
Result<> check_pages(SQLite::Database& database, const fs::path& path) {
  std::error_code ignored;
  if (fs::file_size(path, ignored) > most_checked_bytes) return {};
  std::string found = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (found == "ok") return {};
  return fail(fmt::format("{} is damaged: {}", path.string(), found), remedy_for(SQLITE_CORRUPT));
}

bool is_empty(SQLite::Database& database) {
  return database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0 &&
         pragma(database, "application_id") == 0;
}

// A crash between the two leaves an empty file or all tables.
void make_tables(SQLite::Database& database) {
  SQLite::Transaction transaction(database);
  database.exec(tables);
  database.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id, format));
  transaction.commit();
}

std::unique_ptr<SQLite::Database> connect_to_read(const fs::path& path) {
  auto connect = [&](const char* query) {
    auto database = std::make_unique<SQLite::Database>(uri(path, query),
                                                       SQLite::OPEN_READONLY | SQLite::OPEN_URI, 10'000);
    pragma(*database, "application_id");
    return database;
  };
  try {
    return connect("?mode=ro");
  } catch (const SQLite::Exception& error) {
    // A write-ahead log needs a file beside the database; where none can be made nobody can be writing
    // either.
    fs::path log = path;
    log += "-wal";
    if (error.getErrorCode() != SQLITE_CANTOPEN || !fs::exists(path) || fs::exists(log)) throw;
    return connect("?immutable=1");
  }
}

}  // namespace

std::string utc_now() {
  auto now = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), (now - seconds).count());
}

Error database_error(const fs::path& path, const char* did, const std::exception& cause) {
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&cause);
  int code = sqlite ? sqlite->getErrorCode() & 0xFF : SQLITE_ERROR;  // without the finer distinction
  return {fmt::format("cannot {} {}: {}", did, path.string(), cause.what()), remedy_for(code)};
}

Result<std::unique_ptr<SQLite::Database>> open_database(const fs::path& path) {
  try {
    auto database = std::make_unique<SQLite::Database>(path.string(),
                                                       SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 10'000);
    bool fresh = is_empty(*database);
    if (!fresh)
      if (auto good = check_format(*database, path); !good) return std::unexpected(good.error());
    // A turn that was acknowledged outlives a power cut, hence FULL.
    database->exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    if (fresh)
      make_tables(*database);
    else if (auto good = check_pages(*database, path); !good)
      return std::unexpected(good.error());
    return database;
  } catch (const std::exception& error) {
    return std::unexpected(database_error(path, "open", error));
  }
}

Result<std::unique_ptr<SQLite::Database>> open_database_to_read(const fs::path& path) {
  if (!fs::exists(path))
    return fail(fmt::format("there is no {}", path.string()),
                "name a run folder, its run.db, or exported JSON");
  try {
    auto database = connect_to_read(path);
    if (auto good = check_format(*database, path); !good) return std::unexpected(good.error());
    return database;
  } catch (const std::exception& error) {
    return std::unexpected(database_error(path, "open", error));
  }
}

Result<> move_aside(const fs::path& path) {
  auto with = [](fs::path base, const std::string& ending) { return base += ending; };
  int number = 1;
  while (fs::exists(with(path, fmt::format(".{}", number)))) ++number;
  fs::path aside = with(path, fmt::format(".{}", number));
  try {
    // Its log goes into it, where it is a run; a file of another kind is moved as it is.
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
        return fail(fmt::format("cannot move {} aside: {}", with(path, ending).string(), error.message()));
    }
  return {};
}

}  // namespace kw::store
