// Rows: the statements on evaluations and on the quotas of owners.
#include <SQLiteCpp/SQLiteCpp.h>

#include "base/database/database.h"
#include "serve/store.h"

namespace kw::service {
namespace {

using sqlite::StatementUse;

enum Kept { open, done, cancelled };

void bind_number(SQLite::Statement& statement, int place, const std::optional<std::int64_t>& number) {
  number ? statement.bind(place, *number) : statement.bind(place);
}

// The text must outlive the statement's execution.
void bind_unless_empty(SQLite::Statement& statement, int place, const std::string& text) {
  text.empty() ? statement.bind(place) : statement.bindNoCopy(place, text);
}

std::optional<std::int64_t> number_in_column(const SQLite::Column& column) {
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

void put_request(SQLite::Statement& insert, std::int64_t seq, const NewRow& row) {
  StatementUse use(insert);
  insert.bind(1, seq);
  insert.bindNoCopy(2, row.request);
  bind_unless_empty(insert, 3, row.task);
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
            "INSERT INTO evaluations (id, digest, state, submitted_at, deadline_at, started_at, finished_at,"
            " owner, try_of) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING"),
        insert_request(database, "INSERT INTO requests (seq, request, task) VALUES (?,?,?)"),
        insert_verdict(database, "INSERT INTO verdicts (seq, verdict) VALUES (?,?)"),
        end(database,
            "UPDATE evaluations SET state = ?, started_at = ?, finished_at = ?, cause = ?, work = ?"
            " WHERE seq = ? AND state = 0"),
        drop_request(database, "DELETE FROM requests WHERE seq = ?"),
        find(database,
             "SELECT state, submitted_at, started_at, finished_at, cause, verdict, digest, evaluations.seq"
             " FROM evaluations LEFT JOIN verdicts USING (seq) WHERE id = ?"),
        ended(
            database,
            "SELECT evaluations.seq, id, state, submitted_at, started_at, finished_at, cause, verdict"
            " FROM evaluations LEFT JOIN verdicts USING (seq) WHERE state <> 0 AND finished_at >= ?1"
            " AND (finished_at > ?1 OR evaluations.seq > ?2) ORDER BY finished_at, evaluations.seq LIMIT ?3"),
        ended_of(database,
                 "SELECT evaluations.seq, id, state, submitted_at, started_at, finished_at, cause, verdict"
                 " FROM evaluations LEFT JOIN verdicts USING (seq) WHERE state <> 0 AND owner = ?4"
                 " AND finished_at >= ?1 AND (finished_at > ?1 OR evaluations.seq > ?2)"
                 " ORDER BY finished_at, evaluations.seq LIMIT ?3"),
        count_day(
            database,
            "INSERT INTO owner_days (owner, day, evaluations) VALUES (?1, ?2, 1) ON CONFLICT (owner) DO"
            " UPDATE SET evaluations = iif(day = ?2, evaluations, 0) + 1, day = ?2 RETURNING evaluations"),
        count_try(database,
                  "INSERT INTO owner_tries (owner, task, tries) VALUES (?, ?, 1) ON CONFLICT (owner, task) DO"
                  " UPDATE SET tries = tries + 1 RETURNING tries"),
        give_back(database,
                  "UPDATE owner_tries SET tries = tries - 1 WHERE tries > 0 AND (owner, task) ="
                  " (SELECT owner, try_of FROM evaluations WHERE seq = ?)"),
        known(database,
              "SELECT verdict FROM evaluations JOIN verdicts USING (seq) WHERE work = ?"
              " ORDER BY evaluations.seq DESC LIMIT 1"),
        open_ones(
            database,
            "SELECT evaluations.seq, id, digest, submitted_at, deadline_at, request, task FROM evaluations"
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
  SQLite::Statement ended;
  SQLite::Statement ended_of;
  SQLite::Statement count_day;
  SQLite::Statement count_try;
  SQLite::Statement give_back;
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
  EvaluationState record;
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
  found.record.started_at_ms = number_in_column(find.getColumn(2));
  found.record.finished_at_ms = number_in_column(find.getColumn(3));
  found.record.cause = find.getColumn(4).getString();
  found.record.verdict = text_at(find.getColumn(5));
  found.digest = find.getColumn(6).getString();
  found.seq = find.getColumn(7).getInt64();
  return found;
}

}  // namespace

namespace {

constexpr std::int64_t day_ms = 24 * 3600 * 1000;

// The number that the statement returns.
std::size_t counted(SQLite::Statement& count) {
  std::size_t number = 0;
  while (count.executeStep()) number = static_cast<std::size_t>(count.getColumn(0).getInt64());
  return number;
}

}  // namespace

// Counts without limits as well, so that a limit that is set later finds the numbers.
std::optional<Quota> Rows::count(const NewRow& row) {
  if (row.owner.empty()) return {};
  {
    SQLite::Statement& day = statements_->count_day;
    StatementUse use(day);
    day.bindNoCopy(1, row.owner);
    day.bind(2, row.submitted_at_ms / day_ms);
    if (std::size_t number = counted(day); row.most_a_day > 0 && number > row.most_a_day) return Quota::a_day;
  }
  if (row.try_of.empty()) return {};
  SQLite::Statement& tries = statements_->count_try;
  StatementUse use(tries);
  tries.bindNoCopy(1, row.owner);
  tries.bindNoCopy(2, row.try_of);
  std::size_t number = counted(tries);
  return row.most_tries > 0 && number > row.most_tries ? std::optional(Quota::tries) : std::nullopt;
}

std::optional<KeptRow> Rows::insert(const NewRow& row, std::optional<Quota>& spent) {
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
    spent = count(row);
    if (spent) return {};
    kept.record.verdict ? put(statements_->insert_verdict, kept.seq, *kept.record.verdict)
                        : put_request(statements_->insert_request, kept.seq, row);
    return kept;
  }
  auto found = find_row(statements_->find, row.id);
  if (!found || found->digest != row.digest) return {};
  return KeptRow{found->seq, true, std::move(found->record)};
}

// False if the id exists.
bool Rows::insert_evaluation(const NewRow& row, const EvaluationState& record) {
  SQLite::Statement& insert = statements_->insert;
  StatementUse use(insert);
  insert.bindNoCopy(1, row.id);
  insert.bindNoCopy(2, row.digest);
  insert.bind(3, kept_state(record.state));
  insert.bind(4, row.submitted_at_ms);
  bind_number(insert, 5, row.deadline_at_ms);
  bind_number(insert, 6, record.started_at_ms);
  bind_number(insert, 7, record.finished_at_ms);
  insert.bindNoCopy(8, row.owner);
  bind_unless_empty(insert, 9, row.try_of);
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
  if (!row.was_judged) drop(statements_->give_back, row.seq);
  if (row.record.verdict) put(statements_->insert_verdict, row.seq, *row.record.verdict);
}

std::optional<EvaluationState> Rows::find(const std::string& id) {
  auto found = find_row(statements_->find, id);
  if (!found) return {};
  return std::move(found->record);
}

EndedPart Rows::ended(EndPlace after, std::size_t most, const std::optional<std::string>& owner) {
  SQLite::Statement& ended = owner ? statements_->ended_of : statements_->ended;
  StatementUse use(ended);
  if (owner) ended.bindNoCopy(4, *owner);
  ended.bind(1, after.finished_at_ms);
  ended.bind(2, after.seq);
  ended.bind(3, static_cast<std::int64_t>(most));
  EndedPart part{{}, after};
  while (ended.executeStep()) {
    EvaluationState record;
    record.id = ended.getColumn(1).getString();
    record.state = state_of(ended.getColumn(2).getInt());
    record.submitted_at_ms = ended.getColumn(3).getInt64();
    record.started_at_ms = number_in_column(ended.getColumn(4));
    record.finished_at_ms = number_in_column(ended.getColumn(5));
    record.cause = ended.getColumn(6).getString();
    record.verdict = text_at(ended.getColumn(7));
    part.next = {record.finished_at_ms.value_or(0), ended.getColumn(0).getInt64()};
    part.records.push_back(std::move(record));
  }
  return part;
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
                    all.getColumn(3).getInt64(), number_in_column(all.getColumn(4)),
                    all.getColumn(5).getString(), all.getColumn(6).getString()});
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
