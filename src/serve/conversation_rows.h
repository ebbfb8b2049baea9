// ConversationRows: the conversations of the store. Each function runs within one transaction on the store's
// thread, so that a check and its write are one step for all clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace SQLite {
class Database;
}

namespace kw::service {

// Times are milliseconds since 1970, UTC.
inline constexpr const char* conversation_tables = R"sql(
CREATE TABLE conversations (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,          -- of the request
  request TEXT NOT NULL,         -- JSON: turns, options, reward, ...
  task TEXT NOT NULL,            -- JSON: as it was when the conversation was opened
  opened_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,              -- null: open
  stop_reason TEXT,              -- of the end
  why TEXT,                      -- explains the end, or why the last turn that was sent has no verdict
  bytes INTEGER NOT NULL         -- of its completions
);
CREATE INDEX open_conversations ON conversations (expires_at) WHERE ended_at IS NULL;
CREATE INDEX ended_conversations ON conversations (ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE conversation_turns (
  seq INTEGER NOT NULL,          -- of the conversation
  turn INTEGER NOT NULL,         -- from 1
  completion TEXT NOT NULL,
  finish_reason TEXT NOT NULL,
  evaluation TEXT NOT NULL,      -- id of the evaluation that judges it; empty: judged by its source
  verdict TEXT,                  -- JSON, in short; null: not judged yet
  feedback TEXT,
  reward REAL,
  sent_at INTEGER NOT NULL,
  judged_at INTEGER,
  PRIMARY KEY (seq, turn)
) WITHOUT ROWID;
CREATE INDEX unjudged_turns ON conversation_turns (seq) WHERE verdict IS NULL;
)sql";

struct TurnRow {
  std::size_t turn = 1;
  std::string completion;
  std::string finish_reason;
  std::string evaluation;
  std::string verdict;  // empty: not judged yet
  std::string feedback;
  std::optional<double> reward;
  std::int64_t sent_at_ms = 0;
  std::optional<std::int64_t> judged_at_ms;

  bool is_judged() const { return !verdict.empty(); }
};

struct ConversationRow {
  std::int64_t seq = 0;
  std::string id;
  std::string digest;
  std::string request;
  std::string task;
  std::int64_t opened_at_ms = 0;
  std::int64_t expires_at_ms = 0;
  std::optional<std::int64_t> ended_at_ms;
  std::string stop_reason;
  std::string why;
  std::size_t bytes = 0;
  std::vector<TurnRow> turns;

  bool is_judging() const { return !turns.empty() && !turns.back().is_judged(); }
  bool is_over() const { return ended_at_ms.has_value(); }
};

// The completions with which a conversation is read: they may have megabytes, and few answers need them.
enum class Completions { none, last, all };

// The end of a conversation.
struct ConversationEnd {
  std::string stop_reason;
  std::string why;
};

class ConversationRows {
 public:
  explicit ConversationRows(SQLite::Database& database);
  ~ConversationRows();

  enum class Opening { opened, repeated, conflict, full, owner_full, share_full };
  struct Opened {
    Opening how = Opening::opened;
    ConversationRow row;  // without completions; none if it is full
  };
  struct Room {
    std::size_t most_open = 0;
    std::size_t most_of_owner = 0;  // 0: no limit of the owner's own
    bool is_shared = false;         // the owner may have as many open as there are free places
  };
  Opened open(ConversationRow row, const Room& room);

  // With all turns. An open one beyond its time has ended.
  std::optional<ConversationRow> find(const std::string& id, std::int64_t now_ms,
                                      Completions completions = Completions::all);

  enum class Sending { sent, repeated, conflict, out_of_order, over, too_large, unknown };
  struct Sent {
    Sending how = Sending::unknown;
    ConversationRow row;  // without completions, except that of a new turn
  };
  // Adds the next turn of an open conversation, or finds the same one.
  Sent send(const std::string& id, TurnRow turn, std::int64_t now_ms, std::size_t most_bytes);

  // No change unless the conversation is open and this turn waits for its verdict.
  void judged(std::int64_t seq, const TurnRow& turn, const std::optional<ConversationEnd>& end,
              std::int64_t expires_at_ms);
  // Removes a turn that got no verdict: it may be sent again.
  void take_back(std::int64_t seq, std::size_t turn, const std::string& why, std::int64_t expires_at_ms);

  struct Ended {
    std::optional<ConversationRow> row;  // empty: there is no such conversation
    std::string unjudged;                // the evaluation of the turn that was waiting for its verdict
  };
  // Ends an open one, and drops its turn that waits for a verdict.
  Ended end(const std::string& id, const ConversationEnd& end, std::int64_t now_ms);

  // Ends those beyond their time and deletes those that ended before then, at most so many; their number.
  std::size_t purge(std::int64_t now_ms, std::int64_t ended_before_ms, std::size_t most);

  // The ids of those whose last turn waits for its verdict.
  std::vector<std::string> judging();
  std::size_t open_ones();
  std::size_t open_ones_of(const std::string& owner);

 private:
  std::optional<ConversationRow> load(const std::string& id, Completions completions);
  void load_completions(ConversationRow& row, std::size_t first_turn);
  bool has_same_turn(std::int64_t seq, const TurnRow& turn);
  void touch(std::int64_t seq, std::int64_t more_bytes, std::int64_t expires_at_ms, const std::string& why);
  void finish(ConversationRow& row, const ConversationEnd& end, std::int64_t at_ms);

  struct Statements;
  std::unique_ptr<Statements> statements_;
};

}  // namespace kw::service
