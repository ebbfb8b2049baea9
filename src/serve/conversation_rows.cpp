#include "serve/conversation_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "base/database/database.h"
#include "serve/owners.h"

namespace kw::service {
namespace {

using sqlite::StatementUse;

std::optional<std::int64_t> time_at(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional<std::int64_t>(column.getInt64());
}

}  // namespace

struct ConversationRows::Statements {
  explicit Statements(SQLite::Database& database)
      : insert(database,
               "INSERT INTO conversations (id, digest, request, task, opened_at, expires_at, owner,"
               " bytes) VALUES (?,?,?,?,?,?,?,0)"),
        find(database,
             "SELECT seq, digest, request, task, opened_at, expires_at, ended_at, stop_reason, why, bytes"
             " FROM conversations WHERE id = ?"),
        turns(database,
              "SELECT turn, finish_reason, evaluation, verdict, feedback, reward, sent_at, judged_at"
              " FROM conversation_turns WHERE seq = ? ORDER BY turn"),
        completions(database, "SELECT turn, completion FROM conversation_turns WHERE seq = ? AND turn >= ?"),
        is_same_turn(database,
                     "SELECT completion = ?3 AND finish_reason = ?4 FROM conversation_turns"
                     " WHERE seq = ?1 AND turn = ?2"),
        count(database, "SELECT count(*) FROM conversations WHERE ended_at IS NULL"),
        count_of(database, "SELECT count(*) FROM conversations WHERE ended_at IS NULL AND owner = ?"),
        send(database,
             "INSERT INTO conversation_turns (seq, turn, completion, finish_reason, evaluation, sent_at)"
             " VALUES (?,?,?,?,?,?)"),
        touch(database,
              "UPDATE conversations SET bytes = bytes + ?2, expires_at = ?3, why = ?4 WHERE seq = ?1"),
        judge(database,
              "UPDATE conversation_turns SET verdict = ?3, feedback = ?4, reward = ?5, judged_at = ?6,"
              " evaluation = ?7"
              " WHERE seq = ?1 AND turn = ?2 AND verdict IS NULL"),
        take_back(database,
                  "DELETE FROM conversation_turns WHERE seq = ? AND turn = ? AND verdict IS NULL"
                  " RETURNING length(CAST(completion AS BLOB))"),
        end(database,
            "UPDATE conversations SET ended_at = ?2, stop_reason = ?3, why = ?4"
            " WHERE seq = ?1 AND ended_at IS NULL"),
        drop_unjudged(database, "DELETE FROM conversation_turns WHERE seq = ? AND verdict IS NULL"),
        // A turn that is being judged holds up the expiry.
        expire(database,
               "UPDATE conversations SET ended_at = expires_at, stop_reason = 'expired', why = NULL"
               " WHERE seq IN (SELECT seq FROM conversations WHERE ended_at IS NULL AND expires_at <= ?1"
               " AND NOT EXISTS (SELECT 1 FROM conversation_turns AS turns WHERE"
               " turns.seq = conversations.seq AND verdict IS NULL) LIMIT ?2)"),
        purge(database,
              "DELETE FROM conversations WHERE seq IN (SELECT seq FROM conversations WHERE ended_at < ?"
              " LIMIT ?) RETURNING seq"),
        drop_turns(database, "DELETE FROM conversation_turns WHERE seq = ?"),
        judging(database,
                "SELECT DISTINCT id FROM conversation_turns JOIN conversations USING (seq)"
                " WHERE verdict IS NULL AND ended_at IS NULL ORDER BY seq"),
        connection(database) {}

  SQLite::Statement insert;
  SQLite::Statement find;
  SQLite::Statement turns;
  SQLite::Statement completions;
  SQLite::Statement is_same_turn;
  SQLite::Statement count;
  SQLite::Statement count_of;
  SQLite::Statement send;
  SQLite::Statement touch;
  SQLite::Statement judge;
  SQLite::Statement take_back;
  SQLite::Statement end;
  SQLite::Statement drop_unjudged;
  SQLite::Statement expire;
  SQLite::Statement purge;
  SQLite::Statement drop_turns;
  SQLite::Statement judging;
  SQLite::Database& connection;
};

ConversationRows::ConversationRows(SQLite::Database& database)
    : statements_(std::make_unique<Statements>(database)) {}
ConversationRows::~ConversationRows() = default;

namespace {

std::vector<TurnRow> turn_rows_of(SQLite::Statement& turns, std::int64_t seq) {
  StatementUse use(turns);
  turns.bind(1, seq);
  std::vector<TurnRow> found;
  while (turns.executeStep()) {
    TurnRow row;
    row.turn = static_cast<std::size_t>(turns.getColumn(0).getInt64());
    row.finish_reason = turns.getColumn(1).getString();
    row.evaluation = turns.getColumn(2).getString();
    row.verdict = turns.getColumn(3).getString();
    row.feedback = turns.getColumn(4).getString();
    if (!turns.getColumn(5).isNull()) row.reward = turns.getColumn(5).getDouble();
    row.sent_at_ms = turns.getColumn(6).getInt64();
    row.judged_at_ms = time_at(turns.getColumn(7));
    found.push_back(std::move(row));
  }
  return found;
}

}  // namespace

void ConversationRows::load_completions(ConversationRow& row, std::size_t first_turn) {
  SQLite::Statement& completions = statements_->completions;
  StatementUse use(completions);
  completions.bind(1, row.seq);
  completions.bind(2, static_cast<std::int64_t>(first_turn));
  while (completions.executeStep()) {
    const auto turn = static_cast<std::size_t>(completions.getColumn(0).getInt64());
    row.turns.at(turn - 1).completion = completions.getColumn(1).getString();
  }
}

// Compared in the database, so that no completion is loaded.
bool ConversationRows::has_same_turn(std::int64_t seq, const TurnRow& turn) {
  SQLite::Statement& is_same_turn = statements_->is_same_turn;
  StatementUse use(is_same_turn);
  is_same_turn.bind(1, seq);
  is_same_turn.bind(2, static_cast<std::int64_t>(turn.turn));
  is_same_turn.bindNoCopy(3, turn.completion);
  is_same_turn.bindNoCopy(4, turn.finish_reason);
  return is_same_turn.executeStep() && is_same_turn.getColumn(0).getInt() != 0;
}

std::optional<ConversationRow> ConversationRows::load(const std::string& id, Completions completions) {
  ConversationRow row;
  {
    SQLite::Statement& find = statements_->find;
    StatementUse use(find);
    find.bindNoCopy(1, id);
    if (!find.executeStep()) return {};
    row.seq = find.getColumn(0).getInt64();
    row.id = id;
    row.digest = find.getColumn(1).getString();
    row.request = find.getColumn(2).getString();
    row.task = find.getColumn(3).getString();
    row.opened_at_ms = find.getColumn(4).getInt64();
    row.expires_at_ms = find.getColumn(5).getInt64();
    row.ended_at_ms = time_at(find.getColumn(6));
    row.stop_reason = find.getColumn(7).getString();
    row.why = find.getColumn(8).getString();
    row.bytes = static_cast<std::size_t>(find.getColumn(9).getInt64());
  }
  row.turns = turn_rows_of(statements_->turns, row.seq);
  if (completions != Completions::none && !row.turns.empty())
    load_completions(row, completions == Completions::all ? 1 : row.turns.size());
  return row;
}

std::optional<ConversationRow> ConversationRows::find(const std::string& id, std::int64_t now_ms,
                                                      Completions completions) {
  auto row = load(id, completions);
  if (row && !row->is_over() && !row->is_judging() && row->expires_at_ms <= now_ms)
    finish(*row, {"expired", ""}, row->expires_at_ms);
  return row;
}

std::size_t ConversationRows::open_ones() {
  SQLite::Statement& count = statements_->count;
  StatementUse use(count);
  return count.executeStep() ? static_cast<std::size_t>(count.getColumn(0).getInt64()) : 0;
}

std::size_t ConversationRows::open_ones_of(const std::string& owner) {
  SQLite::Statement& count = statements_->count_of;
  StatementUse use(count);
  count.bindNoCopy(1, owner);
  return count.executeStep() ? static_cast<std::size_t>(count.getColumn(0).getInt64()) : 0;
}

void ConversationRows::touch(std::int64_t seq, std::int64_t more_bytes, std::int64_t expires_at_ms,
                             const std::string& why) {
  SQLite::Statement& touch = statements_->touch;
  StatementUse use(touch);
  touch.bind(1, seq);
  touch.bind(2, more_bytes);
  touch.bind(3, expires_at_ms);
  touch.bindNoCopy(4, why);
  touch.exec();
}

ConversationRows::Opened ConversationRows::open(ConversationRow row, const Room& room) {
  if (auto known = find(row.id, row.opened_at_ms, Completions::none)) {
    Opening how = known->digest == row.digest ? Opening::repeated : Opening::conflict;
    return {how, std::move(*known)};
  }
  const std::size_t open = open_ones();
  if (open >= room.most_open) return {Opening::full, {}};
  const std::string owner(owner_of(row.id));
  const std::size_t own = open_ones_of(owner);
  if (room.most_of_owner > 0 && own >= room.most_of_owner) return {Opening::owner_full, {}};
  if (room.is_shared && own >= room.most_open - open) return {Opening::share_full, {}};
  SQLite::Statement& insert = statements_->insert;
  StatementUse use(insert);
  insert.bindNoCopy(1, row.id);
  insert.bindNoCopy(2, row.digest);
  insert.bindNoCopy(3, row.request);
  insert.bindNoCopy(4, row.task);
  insert.bind(5, row.opened_at_ms);
  insert.bind(6, row.expires_at_ms);
  insert.bindNoCopy(7, owner);
  insert.exec();
  row.seq = statements_->connection.getLastInsertRowid();
  return {Opening::opened, std::move(row)};
}

ConversationRows::Sent ConversationRows::send(const std::string& id, TurnRow turn, std::int64_t now_ms,
                                              std::size_t most_bytes) {
  auto row = find(id, now_ms, Completions::none);
  if (!row) return {};
  const std::size_t known = row->turns.size();
  auto answer = [&](Sending how) { return Sent{how, std::move(*row)}; };
  if (turn.turn >= 1 && turn.turn <= known)
    return answer(has_same_turn(row->seq, turn) ? Sending::repeated : Sending::conflict);
  if (row->is_over()) return answer(Sending::over);
  if (turn.turn != known + 1 || row->is_judging()) return answer(Sending::out_of_order);
  if (row->bytes + turn.completion.size() > most_bytes) return answer(Sending::too_large);
  {
    SQLite::Statement& send = statements_->send;
    StatementUse use(send);
    send.bind(1, row->seq);
    send.bind(2, static_cast<std::int64_t>(turn.turn));
    send.bindNoCopy(3, turn.completion);
    send.bindNoCopy(4, turn.finish_reason);
    send.bindNoCopy(5, turn.evaluation);
    send.bind(6, turn.sent_at_ms);
    send.exec();
  }
  touch(row->seq, static_cast<std::int64_t>(turn.completion.size()), row->expires_at_ms, "");
  row->bytes += turn.completion.size();
  row->why.clear();
  row->turns.push_back(std::move(turn));
  return answer(Sending::sent);
}

void ConversationRows::judged(std::int64_t seq, const TurnRow& turn,
                              const std::optional<ConversationEnd>& end, std::int64_t expires_at_ms) {
  {
    SQLite::Statement& judge = statements_->judge;
    StatementUse use(judge);
    judge.bind(1, seq);
    judge.bind(2, static_cast<std::int64_t>(turn.turn));
    judge.bindNoCopy(3, turn.verdict);
    judge.bindNoCopy(4, turn.feedback);
    turn.reward ? judge.bind(5, *turn.reward) : judge.bind(5);
    judge.bind(6, turn.judged_at_ms.value_or(0));
    judge.bindNoCopy(7, turn.evaluation);
    if (judge.exec() == 0) return;
  }
  touch(seq, 0, expires_at_ms, "");
  if (!end) return;
  ConversationRow row;
  row.seq = seq;
  finish(row, *end, turn.judged_at_ms.value_or(0));
}

void ConversationRows::take_back(std::int64_t seq, std::size_t turn, const std::string& why,
                                 std::int64_t expires_at_ms) {
  std::int64_t bytes = 0;
  {
    SQLite::Statement& remove = statements_->take_back;
    StatementUse use(remove);
    remove.bind(1, seq);
    remove.bind(2, static_cast<std::int64_t>(turn));
    if (!remove.executeStep()) return;
    bytes = remove.getColumn(0).getInt64();
    while (remove.executeStep()) continue;
  }
  touch(seq, -bytes, expires_at_ms, why);
}

void ConversationRows::finish(ConversationRow& row, const ConversationEnd& end, std::int64_t at_ms) {
  {
    SQLite::Statement& statement = statements_->end;
    StatementUse use(statement);
    statement.bind(1, row.seq);
    statement.bind(2, at_ms);
    statement.bindNoCopy(3, end.stop_reason);
    statement.bindNoCopy(4, end.why);
    statement.exec();
  }
  SQLite::Statement& drop = statements_->drop_unjudged;
  StatementUse use(drop);
  drop.bind(1, row.seq);
  drop.exec();
  if (row.is_judging()) row.turns.pop_back();
  row.ended_at_ms = at_ms;
  row.stop_reason = end.stop_reason;
  row.why = end.why;
}

ConversationRows::Ended ConversationRows::end(const std::string& id, const ConversationEnd& end,
                                              std::int64_t now_ms) {
  Ended ended{find(id, now_ms), ""};
  if (!ended.row || ended.row->is_over()) return ended;
  if (ended.row->is_judging()) ended.unjudged = ended.row->turns.back().evaluation;
  finish(*ended.row, end, now_ms);
  return ended;
}

std::size_t ConversationRows::purge(std::int64_t now_ms, std::int64_t ended_before_ms, std::size_t most) {
  std::size_t changed = 0;
  {
    SQLite::Statement& expire = statements_->expire;
    StatementUse use(expire);
    expire.bind(1, now_ms);
    expire.bind(2, static_cast<std::int64_t>(most));
    changed = static_cast<std::size_t>(expire.exec());
  }
  std::vector<std::int64_t> gone;
  {
    SQLite::Statement& purge = statements_->purge;
    StatementUse use(purge);
    purge.bind(1, ended_before_ms);
    purge.bind(2, static_cast<std::int64_t>(most));
    while (purge.executeStep()) gone.push_back(purge.getColumn(0).getInt64());
  }
  for (std::int64_t seq : gone) {
    SQLite::Statement& drop = statements_->drop_turns;
    StatementUse use(drop);
    drop.bind(1, seq);
    drop.exec();
  }
  return std::max(changed, gone.size());
}

std::vector<std::string> ConversationRows::judging() {
  SQLite::Statement& judging = statements_->judging;
  StatementUse use(judging);
  std::vector<std::string> ids;
  while (judging.executeStep()) ids.push_back(judging.getColumn(0).getString());
  return ids;
}

}  // namespace kw::service
