#include "service/rows.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "sqlite/statement_use.h"

namespace kw::service {
namespace {

using sqlite::StatementUse;

enum Kept { open, done, cancelled };

void bind_number(SQLite::Statement& statement, int place, const std::optional<std::int64_t>& number) {
  number ? statement.bind(place, *number) : statement.bind(place);
}

// The text must live until the statement has run.
void bind_unless_empty(SQLite::Statement& statement, int place, const std::string& text) {
  text.empty() ? statement.bind(place) : statement.bindNoCopy(place, text);
}

std::optional<std::int64_t> number_at(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional<std::int64_t>(column.getInt64());
}

std::shared_ptr<const std::string> text_at(const SQLite::Column& column) {
  return column.isNull() ? nullptr : std::make_shared<const std::string>(column.getString());
}

void put(SQLite::Statement& insert, std::int64_t seq, const std::string& text) {
  StatementUse use(insert);
  insert.bind(1, seq);
  insert.bindNoCopy(2, text);
  insert.exec();
}

void drop(SQLite::Statement& remove, std::int64_t seq) {
  StatementUse use(remove);
  remove.bind(1, seq);
  remove.exec();
}

Kept kept_state(State state) {
  return state == State::done ? done : state == State::cancelled ? cancelled : open;
}

State state_of(int kept) {
  return kept == done ? State::done : kept == cancelled ? State::cancelled : State::queued;
}

}  // namespace

struct Rows::Statements {
  explicit Statements(SQLite::Database& database)
      : insert(
            database,
            "INSERT INTO evaluations (id, digest, state, submitted_at, deadline_at, started_at, finished_at)"
            " VALUES (?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING"),
        insert_request(database, "INSERT INTO requests (seq, request) VALUES (?,?)"),
        insert_verdict(database, "INSERT INTO verdicts (seq, verdict) VALUES (?,?)"),
        end(database,
            "UPDATE evaluations SET state = ?, started_at = ?, finished_at = ?, cause = ?, work = ?"
            " WHERE seq = ? AND state = 0"),
        drop_request(database, "DELETE FROM requests WHERE seq = ?"),
        find(database,
             "SELECT state, submitted_at, started_at, finished_at, cause, verdict, digest, evaluations.seq"
             " FROM evaluations LEFT JOIN verdicts USING (seq) WHERE id = ?"),
        known(database,
              "SELECT verdict FROM evaluations JOIN verdicts USING (seq) WHERE work = ?"
              " ORDER BY evaluations.seq DESC LIMIT 1"),
        open_ones(database,
                  "SELECT evaluations.seq, id, digest, submitted_at, deadline_at, request FROM evaluations"
                  " JOIN requests USING (seq) WHERE state = 0 ORDER BY evaluations.seq"),
        purge(database,
              "DELETE FROM evaluations WHERE seq IN (SELECT seq FROM evaluations WHERE state <> 0 AND"
              " finished_at < ? LIMIT ?) RETURNING seq"),
        drop_verdict(database, "DELETE FROM verdicts WHERE seq = ?"),
        connection(database) {}

  SQLite::Statement insert;
  SQLite::Statement insert_request;
  SQLite::Statement insert_verdict;
  SQLite::Statement end;
  SQLite::Statement drop_request;
  SQLite::Statement find;
  SQLite::Statement known;
  SQLite::Statement open_ones;
  SQLite::Statement purge;
  SQLite::Statement drop_verdict;
  SQLite::Database& connection;
};

Rows::Rows(SQLite::Database& database) : statements_(std::make_unique<Statements>(database)) {}
Rows::~Rows() = default;

namespace {

struct Found {
  Record record;
  std::string digest;
  std::int64_t seq = 0;
};

std::optional<Found> find_row(SQLite::Statement& find, const std::string& id) {
  StatementUse use(find);
  find.bindNoCopy(1, id);
  if (!find.executeStep()) return {};
  Found found;
  found.record.id = id;
  found.record.state = state_of(find.getColumn(0).getInt());
  found.record.submitted_at_ms = find.getColumn(1).getInt64();
  found.record.started_at_ms = number_at(find.getColumn(2));
  found.record.finished_at_ms = number_at(find.getColumn(3));
  found.record.cause = find.getColumn(4).getString();
  found.record.verdict = text_at(find.getColumn(5));
  found.digest = find.getColumn(6).getString();
  found.seq = find.getColumn(7).getInt64();
  return found;
}

}  // namespace

std::optional<KeptRow> Rows::insert(const NewRow& row) {
  KeptRow kept;
  kept.record.id = row.id;
  kept.record.submitted_at_ms = row.submitted_at_ms;
  if (auto known = row.work.empty() ? std::nullopt : known_verdict(row.work)) {
    kept.record.state = State::done;
    kept.record.verdict = std::make_shared<const std::string>(row.adapt(*known));
    kept.record.started_at_ms = kept.record.finished_at_ms = row.submitted_at_ms;
  }
  if (insert_evaluation(row, kept.record)) {
    kept.seq = statements_->connection.getLastInsertRowid();
    kept.record.verdict ? put(statements_->insert_verdict, kept.seq, *kept.record.verdict)
                        : put(statements_->insert_request, kept.seq, row.request);
    return kept;
  }
  auto found = find_row(statements_->find, row.id);
  if (!found || found->digest != row.digest) return {};
  return KeptRow{found->seq, true, std::move(found->record)};
}

// False where the id is there.
bool Rows::insert_evaluation(const NewRow& row, const Record& record) {
  SQLite::Statement& insert = statements_->insert;
  StatementUse use(insert);
  insert.bindNoCopy(1, row.id);
  insert.bindNoCopy(2, row.digest);
  insert.bind(3, kept_state(record.state));
  insert.bind(4, row.submitted_at_ms);
  bind_number(insert, 5, row.deadline_at_ms);
  bind_number(insert, 6, record.started_at_ms);
  bind_number(insert, 7, record.finished_at_ms);
  return insert.exec() == 1;
}

void Rows::end(const EndRow& row) {
  {
    SQLite::Statement& end = statements_->end;
    StatementUse use(end);
    end.bind(1, kept_state(row.record.state));
    bind_number(end, 2, row.record.started_at_ms);
    bind_number(end, 3, row.record.finished_at_ms);
    bind_unless_empty(end, 4, row.record.cause);
    bind_unless_empty(end, 5, row.work);
    end.bind(6, row.seq);
    if (end.exec() == 0) return;
  }
  drop(statements_->drop_request, row.seq);
  if (row.record.verdict) put(statements_->insert_verdict, row.seq, *row.record.verdict);
}

std::optional<Record> Rows::find(const std::string& id) {
  auto found = find_row(statements_->find, id);
  if (!found) return {};
  return std::move(found->record);
}

std::optional<std::string> Rows::known_verdict(const std::string& work) {
  SQLite::Statement& known = statements_->known;
  StatementUse use(known);
  known.bindNoCopy(1, work);
  if (!known.executeStep() || known.getColumn(0).isNull()) return {};
  return known.getColumn(0).getString();
}

std::vector<OpenRow> Rows::open_ones() {
  SQLite::Statement& all = statements_->open_ones;
  StatementUse use(all);
  std::vector<OpenRow> rows;
  while (all.executeStep())
    rows.push_back({all.getColumn(0).getInt64(), all.getColumn(1).getString(), all.getColumn(2).getString(),
                    all.getColumn(3).getInt64(), number_at(all.getColumn(4)), all.getColumn(5).getString()});
  return rows;
}

std::size_t Rows::purge(std::int64_t finished_before_ms, std::size_t most) {
  std::vector<std::int64_t> gone;
  {
    SQLite::Statement& purge = statements_->purge;
    StatementUse use(purge);
    purge.bind(1, finished_before_ms);
    purge.bind(2, static_cast<std::int64_t>(most));
    while (purge.executeStep()) gone.push_back(purge.getColumn(0).getInt64());
  }
  for (std::int64_t seq : gone) drop(statements_->drop_verdict, seq);
  return gone.size();
}

}  // namespace kw::service
