#include "sqlite/open.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace kw::sqlite {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_checked_bytes = std::uintmax_t{256} << 20;
constexpr int busy_timeout_ms = 10'000;

const char* remedy_for(int code, const Kind& kind) {
  switch (code) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return kind.when_full;
    case SQLITE_CORRUPT:
      return kind.when_damaged;
    case SQLITE_NOTADB:
      return kind.when_foreign;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "look at the rights of the file and its folder";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "close the other program that works on it";
    default:
      return "";
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
Result<> check_format(SQLite::Database& database, const fs::path& path, const Kind& kind) {
  if (pragma(database, "application_id") != kind.application_id)
    return fail(fmt::format("{} is an SQLite file of another program", path.string()), kind.when_foreign);
  int found = pragma(database, "user_version");
  if (found > kind.format)
    return fail(fmt::format("{} was written by a newer version (format {}, this one knows {})", path.string(),
                            found, kind.format),
                kind.when_newer);
  return {};
}

// Looks through a file of moderate size; damage in a larger one shows when it is met.
Result<> check_pages(SQLite::Database& database, const fs::path& path, const Kind& kind) {
  std::error_code ignored;
  if (fs::file_size(path, ignored) > most_checked_bytes) return {};
  std::string found = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (found == "ok") return {};
  return fail(fmt::format("{} is damaged: {}", path.string(), found), kind.when_damaged);
}

bool is_empty(SQLite::Database& database) {
  return database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0 &&
         pragma(database, "application_id") == 0;
}

// A crash between the two leaves an empty file or all tables.
void make_tables(SQLite::Database& database, const Kind& kind) {
  SQLite::Transaction transaction(database);
  database.exec(kind.tables);
  database.exec(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kind.application_id, kind.format));
  transaction.commit();
}

// A crash leaves the old format or the new one.
void upgrade(SQLite::Database& database, const Kind& kind) {
  SQLite::Transaction transaction(database);
  int found = pragma(database, "user_version");
  for (int format = std::max(1, found); format < kind.format; ++format)
    database.exec(kind.upgrades[static_cast<std::size_t>(format - 1)]);
  if (found < kind.format) database.exec(fmt::format("PRAGMA user_version = {}", kind.format));
  transaction.commit();
}

std::unique_ptr<SQLite::Database> connect_to_read(const fs::path& path) {
  auto connect = [&](const char* query) {
    auto database = std::make_unique<SQLite::Database>(
        uri(path, query), SQLite::OPEN_READONLY | SQLite::OPEN_URI, busy_timeout_ms);
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

Error error_of(const fs::path& path, const Kind& kind, const char* did, const std::exception& cause) {
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&cause);
  int code = sqlite ? sqlite->getErrorCode() & 0xFF : SQLITE_ERROR;  // without the finer distinction
  return {fmt::format("cannot {} {}: {}", did, path.string(), cause.what()), remedy_for(code, kind)};
}

Result<std::unique_ptr<SQLite::Database>> open(const fs::path& path, const Kind& kind) {
  try {
    auto database = std::make_unique<SQLite::Database>(
        path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, busy_timeout_ms);
    bool fresh = is_empty(*database);
    if (!fresh)
      if (auto good = check_format(*database, path, kind); !good) return std::unexpected(good.error());
    if (fresh) database->exec(fmt::format("PRAGMA page_size = {}", kind.page_bytes));
    database->exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    if (fresh)
      make_tables(*database, kind);
    else if (auto good = check_pages(*database, path, kind); !good)
      return std::unexpected(good.error());
    else
      upgrade(*database, kind);
    return database;
  } catch (const std::exception& error) {
    return std::unexpected(error_of(path, kind, "open", error));
  }
}

Result<std::unique_ptr<SQLite::Database>> open_to_read(const fs::path& path, const Kind& kind) {
  try {
    auto database = connect_to_read(path);
    if (auto good = check_format(*database, path, kind); !good) return std::unexpected(good.error());
    return database;
  } catch (const std::exception& error) {
    return std::unexpected(error_of(path, kind, "open", error));
  }
}

}  // namespace kw::sqlite
