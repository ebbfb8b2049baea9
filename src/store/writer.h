// Writer: the one thread that owns the writing connection. What is queued while it writes becomes its next
// transaction, so that many callers share the wait for the disk.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "store/records.h"

namespace kw::store {

class Writer {
 public:
  struct Job {
    std::move_only_function<void(Records&)> work;
    // Called on the writer's thread once the transaction is on disk, or with what prevented it.
    std::move_only_function<void(std::optional<Error>)> done;
  };

  Writer(std::filesystem::path path, std::unique_ptr<SQLite::Database> database);
  // Writes what is queued first.
  ~Writer();

  // From any thread.
  void push(Job job);

 private:
  void run();
  void write(std::vector<Job> jobs);
  std::optional<Error> attempt(Job& job);
  std::optional<Error> commit();

  std::filesystem::path path_;
  std::unique_ptr<SQLite::Database> database_;
  std::unique_ptr<Records> records_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job> queue_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace kw::store
