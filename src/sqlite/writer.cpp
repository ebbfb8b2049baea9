#include "sqlite/writer.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

namespace kw::sqlite {

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

// One job's changes, all or none of them; the others of the transaction are not touched by its failure.
std::optional<Error> Writer::attempt(Job& job) {
  try {
    if (sqlite3_get_autocommit(database_.getHandle())) database_.exec("BEGIN");
    database_.exec("SAVEPOINT job");
    job.work();
    database_.exec("RELEASE job");
    return {};
  } catch (const std::exception& error) {
    // A full disk rolls everything back by itself; then there is no savepoint any more.
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
  std::size_t lost = 0;  // so many jobs at the front were rolled back with a later one
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
