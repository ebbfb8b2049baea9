#include "base/database/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/core/files.h"
#include "base/core/text.h"

namespace kw::sqlite {
namespace {

std::unexpected<Error> taken(const FileLock::Words& words, const std::filesystem::path& lock) {
  auto owner = read_file(lock, 64);
  std::string pid(owner ? trim(*owner) : std::string_view());
  return fail(fmt::format("{} is in use by {}", words.name,
                          pid.empty() ? "another program" : fmt::format("process {}", pid)),
              words.remedy);
}

}  // namespace

Result<FileLock> FileLock::take(const std::filesystem::path& file, const Words& words) {
  std::filesystem::path path = file;
  path += ".lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return taken(words, path);
    return fail(fmt::format("cannot lock {}: {}", path.string(), errno_text(errno)),
                "keep it on a local file system");
  }
  std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return fail(fmt::format("cannot write {}: {}", path.string(), errno_text(errno)));
  return FileLock(std::move(fd));
}

bool is_in_use(const std::filesystem::path& file) {
  std::filesystem::path path = file;
  path += ".lock";
  struct stat lock{};
  if (::stat(path.c_str(), &lock) != 0 || !S_ISREG(lock.st_mode)) return false;
  // "1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF". The device may be that below an overlay, and the
  // process that of another namespace: one of them has to agree.
  std::string inode = fmt::format(":{} ", lock.st_ino);
  std::string device = fmt::format(" {:02x}:{:02x}:", major(lock.st_dev), minor(lock.st_dev));
  auto owner = read_file(path, 64);
  std::string process = fmt::format(" {} ", owner ? trim(*owner) : std::string_view());
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);)
    if (line.contains("FLOCK") && line.contains(inode) && (line.contains(device) || line.contains(process)))
      return true;
  return false;
}

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_checked_bytes = std::uintmax_t{256} << 20;
constexpr int busy_timeout_ms = 60'000;  // a sync takes seconds while another program fills the disk

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

// The path as a URI; characters with a meaning in URIs are escaped.
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

// An error unless the file is of this kind and this version can read its format.
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

// Checks the integrity of a file of moderate size; in a larger one, damage is found when a page is read.
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

// One transaction: a crash leaves an empty file or all tables.
void make_tables(SQLite::Database& database, const Kind& kind) {
  SQLite::Transaction transaction(database);
  database.exec(kind.tables);
  database.exec(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kind.application_id, kind.format));
  transaction.commit();
}

// One transaction: a crash leaves the old format or the new one.
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
    // A write-ahead log needs a file beside the database. If there is none and none can be created, no
    // program can be writing.
    fs::path log = path;
    log += "-wal";
    if (error.getErrorCode() != SQLITE_CANTOPEN || !fs::exists(path) || fs::exists(log)) throw;
    return connect("?immutable=1");
  }
}

}  // namespace

Error error_of(const fs::path& path, const Kind& kind, const char* did, const std::exception& cause) {
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&cause);
  int code = sqlite ? sqlite->getErrorCode() & 0xFF : SQLITE_ERROR;  // without the extended code
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

Writer::Writer(SQLite::Database& database, Explain explain)
    : database_(database), explain_(std::move(explain)), thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Writer::push(Job job) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void Writer::run() {
  while (true) {
    std::vector<Job> jobs;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      jobs.swap(queue_);
    }
    write(std::move(jobs));
  }
}

// Makes all changes of one job or none. A failure leaves the other jobs of the transaction unchanged.
std::optional<Error> Writer::attempt(Job& job) {
  try {
    if (sqlite3_get_autocommit(database_.getHandle())) database_.exec("BEGIN");
    database_.exec("SAVEPOINT job");
    job.work();
    database_.exec("RELEASE job");
    return {};
  } catch (const std::exception& error) {
    // On a full disk SQLite rolls back the whole transaction, and with it the savepoint.
    if (!sqlite3_get_autocommit(database_.getHandle())) database_.tryExec("ROLLBACK TO job; RELEASE job");
    return explain_(error);
  }
}

std::optional<Error> Writer::commit() {
  try {
    database_.exec("COMMIT");
    return {};
  } catch (const std::exception& error) {
    if (!sqlite3_get_autocommit(database_.getHandle())) database_.tryExec("ROLLBACK");
    return explain_(error);
  }
}

void Writer::write(std::vector<Job> jobs) {
  std::vector<std::optional<Error>> ended;
  std::size_t lost = 0;  // the number of jobs at the front that were rolled back with a later one
  std::optional<Error> cause;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ended.push_back(attempt(jobs[i]));
    if (!ended.back() || !sqlite3_get_autocommit(database_.getHandle())) continue;
    lost = i + 1;
    cause = ended.back();
  }
  std::optional<Error> failed;
  if (!sqlite3_get_autocommit(database_.getHandle())) failed = commit();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!ended[i]) ended[i] = i < lost ? cause : failed;
    jobs[i].done(std::move(ended[i]));
  }
}

}  // namespace kw::sqlite
