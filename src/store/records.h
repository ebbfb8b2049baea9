// Records: what a run writes, on the one connection that may. Each call is part of the transaction around it.
// Throws what SQLiteCpp throws, and std::runtime_error where a trace was not begun.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/run_info.h"
#include "store/summary.h"
#include "store/trace_log.h"

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
  void end(const TraceKey& key, std::size_t round, const Conversation& conversation, bool last);
  std::optional<Verdict> known_verdict(const std::string& work);

 private:
  struct Statements;
  std::unique_ptr<Statements> statements_;
};

}  // namespace kw::store
