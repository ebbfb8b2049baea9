#include "store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>

#include "sqlite/open.h"
#include "store/tables.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

constexpr std::array upgrades{from_format_1};

constexpr sqlite::Kind run_kind{
    .application_id = 0x4B57524E,
    .format = 2,
    .tables = tables,
    .upgrades = upgrades,
    .when_full =
        "make sure that the disk is sound and has space, and give the same command again: it goes on",
    .when_damaged =
        "`sqlite3 run.db .recover` may save what is in it; --fresh moves it aside and starts anew",
    .when_foreign = "name a run folder, or move the file away",
    .when_newer = "use the version that made it, or --fresh"};

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
    return fail(fmt::format("there is no {}", path.string()),
                "name a run folder, its run.db, or exported JSON");
  return sqlite::open_to_read(path, run_kind);
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
