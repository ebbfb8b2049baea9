// Writer: the one thread that owns the writing connection. What is queued while it writes becomes its next
// transaction, so that many callers share the wait for the disk.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"

namespace SQLite {
class Database;
}

namespace kw::sqlite {

class Writer {
 public:
  struct Job {
    // Throws to have its changes undone, and those of no other.
    std::move_only_function<void()> work;
    // Called on the writer's thread once the transaction is on disk, or with what prevented it.
    std::move_only_function<void(std::optional<Error>)> done;
  };

  // Puts what was thrown into words.
  using Explain = std::function<Error(const std::exception& cause)>;

  // The database must outlive the writer.
  Writer(SQLite::Database& database, Explain explain);
  // Writes what is queued first.
  ~Writer();

  // From any thread.
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
