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
#include "base/core/words.h"
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

// Format 3, on top of the tables here and of those in conversation_rows.h: evaluations and conversations
// belong to owners, whose names their ids contain as well ('': the operator), and what owners have used of
// their quotas.
inline constexpr const char* owner_tables = R"sql(
ALTER TABLE evaluations ADD COLUMN owner TEXT NOT NULL DEFAULT '';
-- The task's version, where the evaluation counts as one of the owner's tries.
ALTER TABLE evaluations ADD COLUMN try_of TEXT;
CREATE INDEX by_end_of ON evaluations (owner, finished_at) WHERE state <> 0;
ALTER TABLE conversations ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX open_conversations_of ON conversations (owner) WHERE ended_at IS NULL;
CREATE TABLE owner_days (
  owner TEXT PRIMARY KEY,
  day INTEGER NOT NULL,          -- since 1970, UTC
  evaluations INTEGER NOT NULL   -- submitted on it
) WITHOUT ROWID;
CREATE TABLE owner_tries (
  owner TEXT NOT NULL,
  task TEXT NOT NULL,            -- the task's version
  tries INTEGER NOT NULL,
  PRIMARY KEY (owner, task)
) WITHOUT ROWID;
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
  std::string owner{};         // empty: the operator, who has no quota
  std::string try_of{};        // the version of the task that the request names by id
  std::size_t most_a_day = 0;  // 0: no limit
  std::size_t most_tries = 0;
};

BOOST_DEFINE_ENUM_CLASS(Quota, a_day, tries)

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
  std::string work{};      // empty: the verdict is not to be shared
  bool was_judged = true;  // false: the try is given back
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

  // Empty if the id exists with a different request. Counts a new one; a quota that it exceeds is in `spent`,
  // and the transaction must be rolled back then.
  std::optional<KeptRow> insert(const NewRow& row, std::optional<Quota>& spent);
  // No change if it has ended.
  void end(const EndRow& row);
  std::optional<EvaluationState> find(const std::string& id);
  EndedPart ended(EndPlace after, std::size_t most, const std::optional<std::string>& owner);
  std::optional<std::string> known_verdict(const std::string& work);
  std::vector<OpenRow> open_ones();
  // Deletes at most so many evaluations that ended before then; returns their number.
  std::size_t purge(std::int64_t finished_before_ms, std::size_t most);

 private:
  bool insert_evaluation(const NewRow& row, const EvaluationState& record);
  std::optional<Quota> count(const NewRow& row);

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
    std::optional<Quota> spent;           // an owner's quota that does not suffice; no row was stored
  };
  async::Task<Result<Inserted>> insert(std::vector<NewRow> rows);
  async::Task<Result<>> end(std::vector<EndRow> rows);
  // In the order of the ids.
  async::Task<Result<std::vector<std::optional<EvaluationState>>>> find(std::vector<std::string> ids);
  // `owner`: of this one alone.
  async::Task<Result<EndedPart>> ended(EndPlace after, std::size_t most,
                                       std::optional<std::string> owner = {});
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
