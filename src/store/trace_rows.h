// Rows of run.db → Trace. Throws what SQLiteCpp throws, and std::runtime_error where a row is damaged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "schema/trace.h"
#include "store/trace_log.h"

namespace SQLite {
class Database;
}

namespace kw::store {

class TraceRows {
 public:
  explicit TraceRows(SQLite::Database& database);
  ~TraceRows();

  std::optional<Trace> find(const TraceKey& key);
  // The first trace that was begun after the one with this row's id; its own id goes into `id`.
  std::optional<Trace> after(std::int64_t& id);

 private:
  struct Statements;
  std::unique_ptr<Statements> statements_;
};

}  // namespace kw::store
