// Rows: the store's statements, on the one connection that writes. Each call is part of the transaction
// around it. Throws what SQLiteCpp throws.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/evaluation.h"

namespace SQLite {
class Database;
}

namespace kw::service {

// An evaluation to be kept.
struct NewRow {
  std::string id;
  std::string digest;
  std::int64_t submitted_at_ms = 0;
  std::optional<std::int64_t> deadline_at_ms;
  std::string request;
  std::string work{};  // a verdict that is known of it will do; empty: none will
  // Makes this evaluation's verdict of the known one.
  std::function<std::string(std::string_view known)> adapt{};
};

// What became of it.
struct KeptRow {
  std::int64_t seq = 0;
  bool repeated = false;  // the id was there, with an equal request
  Record record;          // as it is in the store now
};

// The end of an evaluation.
struct EndRow {
  std::int64_t seq = 0;
  Record record;
  std::string work{};  // empty: the verdict is not to be shared
};

// One that is not over.
struct OpenRow {
  std::int64_t seq = 0;
  std::string id;
  std::string digest;
  std::int64_t submitted_at_ms = 0;
  std::optional<std::int64_t> deadline_at_ms;
  std::string request;
};

class Rows {
 public:
  explicit Rows(SQLite::Database& database);
  ~Rows();

  // Nothing where the id is there with another request.
  std::optional<KeptRow> insert(const NewRow& row);
  // Changes nothing where it is over already.
  void end(const EndRow& row);
  std::optional<Record> find(const std::string& id);
  std::optional<std::string> known_verdict(const std::string& work);
  std::vector<OpenRow> open_ones();
  // Deletes what was over before then, at most so many; how many there were.
  std::size_t purge(std::int64_t finished_before_ms, std::size_t most);

 private:
  bool insert_evaluation(const NewRow& row, const Record& record);

  struct Statements;
  std::unique_ptr<Statements> statements_;
};

}  // namespace kw::service
