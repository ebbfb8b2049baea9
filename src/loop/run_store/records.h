// The SQL statements of a run's traces: TraceRows reads, Records writes on the only writing connection, as
// part of the surrounding transaction. They throw exceptions of SQLiteCpp, and std::runtime_error for a
// damaged row or a trace that was not begun.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "loop/run_store/database.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/trace_log.h"
#include "types/trace.h"

namespace SQLite {
class Database;
}

namespace kw::store {

class TraceRows {
 public:
  explicit TraceRows(SQLite::Database& database);
  ~TraceRows();

  std::optional<Trace> find(const TraceKey& key);
  // The first trace that was begun after the one with this row's id; sets `id` to its own.
  std::optional<Trace> after(std::int64_t& id);

 private:
  struct Statements;
  std::unique_ptr<Statements> statements_;
};

}  // namespace kw::store

namespace SQLite {
class Database;
}

namespace kw::store {

class Records {
 public:
  explicit Records(SQLite::Database& database);
  ~Records();

  std::optional<Trace> find(const TraceKey& key);
  void begin(const TraceKey& key, const Trace& trace);
  void save(const TraceKey& key, std::size_t round, const Turn& turn);
  void save_judgement(const TraceKey& key, std::size_t round, const Turn& turn);
  void end(const TraceKey& key, std::size_t round, const Conversation& conversation, bool last);
  std::optional<Verdict> known_verdict(const std::string& work);

 private:
  struct Statements;
  std::unique_ptr<Statements> statements_;
};

}  // namespace kw::store
