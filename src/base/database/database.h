// An SQLite file of this program: its lock for one program, opening and checking it, its prepared statements,
// and the thread that owns the writing connection.
#pragma once

#include <SQLiteCpp/Statement.h>

#include <condition_variable>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw::sqlite {

// Held until it is destroyed or the process ends in any way.
class FileLock {
 public:
  // The file's name in messages ("run x.run"), and the remedy while another program has it.
  struct Words {
    std::string name;
    std::string remedy;
  };

  // Locks FILE.lock, which contains the owner's process id and is not removed. An error names the owner.
  static Result<FileLock> take(const std::filesystem::path& file, const Words& words);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Whether a program holds the lock of this file, by the list of the kernel. Taking the lock instead could
// refuse a program that starts at that moment. False where the list cannot be read.
bool is_in_use(const std::filesystem::path& file);

}  // namespace kw::sqlite

namespace SQLite {
class Database;
}

namespace kw::sqlite {

// A kind of file: its identification, and the remedies for its errors.
struct Kind {
  int application_id = 0;  // of an SQLite file of this kind
  int format = 1;          // of the tables
  int page_bytes = 4096;   // of a new file
  const char* tables = "";
  std::span<const char* const> upgrades{};  // the first from format 1 to 2, and so on
  const char* when_full = "make sure that the disk is sound and has space";
  const char* when_damaged = "";
  const char* when_foreign = "move the file away, or name another";
  const char* when_newer = "use the version that made it";
};

// Creates missing file and tables, and upgrades older formats. An error if the file has another kind, is
// damaged, or is newer. Committed transactions survive a power failure.
Result<std::unique_ptr<SQLite::Database>> open(const std::filesystem::path& path, const Kind& kind);

// Opens without changes, also while another program writes the file, and on a read-only file system.
Result<std::unique_ptr<SQLite::Database>> open_to_read(const std::filesystem::path& path, const Kind& kind);

// The error of SQLite during an action ("write", "read"), with the remedy.
Error error_of(const std::filesystem::path& path, const Kind& kind, const char* did,
               const std::exception& cause);

// Resets a prepared statement; the destructor releases its locks and bound text.
class StatementUse {
 public:
  explicit StatementUse(SQLite::Statement& statement) : statement_(statement) { statement.reset(); }
  StatementUse(const StatementUse&) = delete;
  ~StatementUse() {
    statement_.tryReset();
    try {
      statement_.clearBindings();
    } catch (...) {  // harmless: the next use binds all values again
    }
  }

 private:
  SQLite::Statement& statement_;
};

}  // namespace kw::sqlite

namespace SQLite {
class Database;
}

namespace kw::sqlite {

// Work that is queued during a transaction goes into the next one: many callers share the wait for the disk.
class Writer {
 public:
  struct Job {
    // Throws to undo its own changes only.
    std::move_only_function<void()> work;
    // Called on the writer's thread when the transaction is on disk, or with the error.
    std::move_only_function<void(std::optional<Error>)> done;
  };

  // Converts an exception to an error.
  using Explain = std::function<Error(const std::exception& cause)>;

  // The database must outlive the writer.
  Writer(SQLite::Database& database, Explain explain);
  // The destructor writes the queue first.
  ~Writer();

  // May be called from any thread.
  void push(Job job);

 private:
  void run();
  void write(std::vector<Job> jobs);
  std::optional<Error> attempt(Job& job);
  std::optional<Error> commit();

  SQLite::Database& database_;
  Explain explain_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job> queue_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace kw::sqlite
