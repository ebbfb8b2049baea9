// Store: evaluations in one SQLite file. One thread owns the connection; writes that are queued during a
// transaction go into the next one, and each caller resumes on the loop when its write is on disk. A change
// of the tables, which are here and in conversation_rows.h, needs a new format number and an upgrade from the
// old one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/loop.h"
#include "base/core/result.h"
#include "serve/conversation_rows.h"
#include "serve/evaluation.h"

namespace kw::service {

// Times are milliseconds since 1970, UTC. Texts have separate tables: requests are deleted once there is a
// verdict, and would leave half-empty pages among rows that stay.
inline constexpr const char* tables = R"sql(
CREATE TABLE evaluations (
  seq INTEGER PRIMARY KEY,       -- in the order in which they came
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,          -- of the request
  state INTEGER NOT NULL,        -- 0: queued or running, 1: done, 2: cancelled
  submitted_at INTEGER NOT NULL,
  deadline_at INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  cause TEXT,                    -- of a cancellation
  work TEXT                      -- by which equal work finds the verdict; null: nobody may share it
);
CREATE INDEX open_evaluations ON evaluations (seq) WHERE state = 0;
CREATE INDEX known_verdicts ON evaluations (work) WHERE work IS NOT NULL;
CREATE INDEX by_end ON evaluations (finished_at) WHERE state <> 0;
-- Of those that are not over.
CREATE TABLE requests (
  seq INTEGER PRIMARY KEY,
  request TEXT NOT NULL,         -- JSON
  task TEXT                      -- JSON of the task that it names by id; null: it contains the reference
);
-- Of those that are done.
CREATE TABLE verdicts (
  seq INTEGER PRIMARY KEY,
  verdict TEXT NOT NULL          -- JSON
);
)sql";

}  // namespace kw::service

namespace SQLite {
class Database;
}

namespace kw::service {

// A new evaluation.
struct NewRow {
  std::string id;
  std::string digest;
  std::int64_t submitted_at_ms = 0;
  std::optional<std::int64_t> deadline_at_ms;
  std::string request;
  std::string task{};  // JSON of the task that the request names by id; empty: it contains the reference
  std::string work{};  // a stored verdict on it is accepted; empty: none is
  // Converts the stored verdict to this evaluation's.
  std::function<std::string(std::string_view known)> adapt{};
};

// The result of the insertion.
struct KeptRow {
  std::int64_t seq = 0;
  bool repeated = false;   // the id exists with an equal request
  EvaluationState record;  // as stored now
};

// The end of an evaluation.
struct EndRow {
  std::int64_t seq = 0;
  EvaluationState record;
  std::string work{};  // empty: the verdict is not to be shared
};

// An evaluation that has not ended.
struct OpenRow {
  std::int64_t seq = 0;
  std::string id;
  std::string digest;
  std::int64_t submitted_at_ms = 0;
  std::optional<std::int64_t> deadline_at_ms;
  std::string request;
  std::string task;  // empty: the request contains the reference
};

class Rows {
 public:
  explicit Rows(SQLite::Database& database);
  ~Rows();

  // Empty if the id exists with a different request.
  std::optional<KeptRow> insert(const NewRow& row);
  // No change if it has ended.
  void end(const EndRow& row);
  std::optional<EvaluationState> find(const std::string& id);
  EndedPart ended(EndPlace after, std::size_t most);
  std::optional<std::string> known_verdict(const std::string& work);
  std::vector<OpenRow> open_ones();
  // Deletes at most so many evaluations that ended before then; returns their number.
  std::size_t purge(std::int64_t finished_before_ms, std::size_t most);

 private:
  bool insert_evaluation(const NewRow& row, const EvaluationState& record);

  struct Statements;
  std::unique_ptr<Statements> statements_;
};

// Store: evaluations in one SQLite file. One thread owns the connection; writes that are queued during a
// transaction go into the next one, and each caller resumes on the loop when its write is on disk.
class Store {
 public:
  // Creates missing folder and file. Refuses a file that another service has open, that is not a store, is
  // damaged, or comes from a newer version.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path);
  ~Store();

  // Writes the queue and closes the file; all later calls fail.
  void close();

  // The open evaluations of an earlier service, in order of arrival. Call it first.
  Result<std::vector<OpenRow>> open_ones();

  struct Inserted {
    std::vector<KeptRow> rows;
    std::optional<std::size_t> conflict;  // the row whose id exists with another request; no row was stored
  };
  async::Task<Result<Inserted>> insert(std::vector<NewRow> rows);
  async::Task<Result<>> end(std::vector<EndRow> rows);
  // In the order of the ids.
  async::Task<Result<std::vector<std::optional<EvaluationState>>>> find(std::vector<std::string> ids);
  async::Task<Result<EndedPart>> ended(EndPlace after, std::size_t most);
  async::Task<Result<std::vector<std::optional<std::string>>>> known_verdicts(std::vector<std::string> works);
  async::Task<Result<std::size_t>> purge(std::int64_t finished_before_ms, std::size_t most);

  // The result of the work on the conversations, when its transaction is on disk.
  template <typename T>
  async::Task<Result<T>> conversations(std::move_only_function<T(ConversationRows&)> work) {
    auto value = std::make_shared<std::optional<T>>();
    auto ran = co_await run(
        [value, work = std::move(work)](ConversationRows& rows) mutable { value->emplace(work(rows)); });
    if (!ran) co_return std::unexpected(std::move(ran.error()));
    co_return std::move(**value);
  }

 private:
  async::Task<Result<>> run(std::move_only_function<void(ConversationRows&)> work);

  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kw::service
