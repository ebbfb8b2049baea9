#include "loop/run_store/records.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "base/core/json.h"
#include "base/database/database.h"
#include "loop/run_store/database.h"

namespace kw::store {
namespace json = boost::json;
namespace {

constexpr const char* trace_columns =
    "SELECT id, task_id, sample_number, source, level, problem_id, sample_key, name, reference_code,"
    " entry_point, input_shapes, licence, repo, prompt, sampling, ended_at FROM traces ";

std::string text(SQLite::Statement& row, int column) {
  return row.getColumn(column).getString();
}

std::optional<std::int64_t> number(SQLite::Statement& row, int column) {
  auto value = row.getColumn(column);
  if (value.isNull()) return {};
  return value.getInt64();
}

json::value parsed(SQLite::Statement& row, int column) {
  auto value = parse_json(text(row, column));
  if (!value)
    throw std::runtime_error(fmt::format("{} of row {}: {}", row.getColumn(column).getName(),
                                         row.getColumn(0).getInt64(), value.error().what));
  return std::move(*value);
}

std::vector<Message> messages(const json::value& list) {
  std::vector<Message> messages;
  if (const json::array* array = list.if_array())
    for (const json::value& each : *array)
      if (const json::object* o = each.if_object())
        messages.push_back({string_at(*o, "role").value_or(""), string_at(*o, "content").value_or("")});
  return messages;
}

Trace read_trace(SQLite::Statement& row) {
  Trace trace;
  trace.task.task_id = text(row, 1);
  trace.sample_number = static_cast<std::size_t>(row.getColumn(2).getInt64());
  trace.task.source = text(row, 3);
  trace.task.level = text(row, 4);
  trace.task.problem_id = text(row, 5);
  trace.task.sample_key = text(row, 6);
  trace.task.name = text(row, 7);
  trace.task.reference_code = text(row, 8);
  trace.task.entry_point = text(row, 9);
  trace.task.input_shapes = text(row, 10);
  trace.task.licence = text(row, 11);
  trace.task.repo = text(row, 12);
  trace.prompt = messages(parsed(row, 13));
  if (json::value sampling = parsed(row, 14); sampling.is_object())
    trace.sampling = std::move(sampling.get_object());
  trace.ended_at = text(row, 15);
  return trace;
}

Turn read_turn(SQLite::Statement& row) {
  Turn turn;
  turn.turn = static_cast<std::size_t>(row.getColumn(2).getInt64());
  turn.completion = text(row, 3);
  turn.reasoning = text(row, 4);
  turn.code = text(row, 5);
  turn.model = text(row, 6);
  turn.finish_reason = text(row, 7);
  turn.usage = {number(row, 8), number(row, 9), number(row, 10)};
  turn.generation_ms = row.getColumn(11).getDouble();
  turn.answered_at = text(row, 12);
  turn.feedback = text(row, 13);
  turn.judged_at = text(row, 15);
  if (row.getColumn(14).isNull()) return turn;
  json::value value = parsed(row, 14);
  auto verdict =
      value.is_object() ? verdict_from_json(value.get_object()) : fail("a verdict is not an object");
  if (!verdict)
    throw std::runtime_error(
        fmt::format("the verdict of row {}: {}", row.getColumn(0).getInt64(), verdict.error().what));
  turn.verdict = std::move(*verdict);
  return turn;
}

}  // namespace

struct TraceRows::Statements {
  explicit Statements(SQLite::Database& database)
      : by_key(database, fmt::format("{} WHERE task_id = ? AND sample_number = ?", trace_columns)),
        by_id(database, fmt::format("{} WHERE id > ? ORDER BY id LIMIT 1", trace_columns)),
        rounds(database, "SELECT round, stop_reason, error FROM rounds WHERE trace = ? ORDER BY round"),
        turns(database,
              "SELECT id, round, turn, completion, reasoning, code, model, finish_reason, prompt_tokens,"
              " completion_tokens, reasoning_tokens, generation_ms, answered_at, feedback, verdict, judged_at"
              " FROM turns WHERE trace = ? AND round = ? ORDER BY turn") {}

  void read_turns(std::int64_t trace, std::int64_t round, Conversation& conversation) {
    sqlite::StatementUse use(turns);
    turns.bind(1, trace);
    turns.bind(2, round);
    while (turns.executeStep()) conversation.turns.push_back(read_turn(turns));
  }

  void read_rounds(std::int64_t id, Trace& trace) {
    sqlite::StatementUse use(rounds);
    rounds.bind(1, id);
    while (rounds.executeStep()) {
      Conversation& conversation = trace.rounds.emplace_back();
      conversation.stop_reason = from_string<StopReason>(text(rounds, 1));
      conversation.error = text(rounds, 2);
      read_turns(id, rounds.getColumn(0).getInt64(), conversation);
    }
  }

  std::optional<Trace> first(SQLite::Statement& found, std::int64_t& id) {
    if (!found.executeStep()) return {};
    id = found.getColumn(0).getInt64();
    Trace trace = read_trace(found);
    read_rounds(id, trace);
    return trace;
  }

  SQLite::Statement by_key;
  SQLite::Statement by_id;
  SQLite::Statement rounds;
  SQLite::Statement turns;
};

TraceRows::TraceRows(SQLite::Database& database) : statements_(std::make_unique<Statements>(database)) {}
TraceRows::~TraceRows() = default;

std::optional<Trace> TraceRows::find(const TraceKey& key) {
  sqlite::StatementUse use(statements_->by_key);
  statements_->by_key.bind(1, key.task_id);
  statements_->by_key.bind(2, static_cast<std::int64_t>(key.sample_number));
  std::int64_t id = 0;
  return statements_->first(statements_->by_key, id);
}

std::optional<Trace> TraceRows::after(std::int64_t& id) {
  sqlite::StatementUse use(statements_->by_id);
  statements_->by_id.bind(1, id);
  return statements_->first(statements_->by_id, id);
}

namespace json = boost::json;
namespace {

std::int64_t signed_count(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

void bind(SQLite::Statement& statement, int place, const std::optional<std::int64_t>& number) {
  number ? statement.bind(place, *number) : statement.bind(place);
}

void bind(SQLite::Statement& statement, int place, const std::optional<double>& number) {
  number ? statement.bind(place, *number) : statement.bind(place);
}

void bind_unless_empty(SQLite::Statement& statement, int place, const std::string& text) {
  text.empty() ? statement.bind(place) : statement.bind(place, text);
}

std::string prompt_json(const std::vector<Message>& prompt) {
  json::array messages;
  for (const Message& message : prompt)
    messages.push_back(json::object{{"role", message.role}, {"content", message.content}});
  return json::serialize(messages);
}

void bind_verdict(SQLite::Statement& turns, const Turn& turn) {
  for (int place = 15; place <= 22; ++place) turns.bind(place);
  if (!turn.verdict) return;
  const Verdict& verdict = *turn.verdict;
  turns.bind(15, json::serialize(to_json(verdict)));
  turns.bind(16, turn.judged_at.empty() ? utc_now() : turn.judged_at);
  turns.bind(17, verdict.candidate_sha256);
  turns.bind(18, verdict.environment.protocol);
  turns.bind(19, correct_and_counts(verdict) ? 1 : 0);
  bind(turns, 20, verdict.speedup);
  turns.bind(21, verdict.fault == Fault::infrastructure ? 1 : 0);
  if (verdict.work) turns.bind(22, *verdict.work);
}

constexpr const char* insert_turn =
    "INSERT INTO turns (trace, round, turn, completion, reasoning, code, model, finish_reason, prompt_tokens,"
    " completion_tokens, reasoning_tokens, generation_ms, answered_at, feedback, verdict, judged_at,"
    " candidate_sha256, protocol, counting, speedup, infrastructure, work)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
    " ON CONFLICT (trace, round, turn) DO UPDATE SET completion = excluded.completion,"
    " reasoning = excluded.reasoning, code = excluded.code, model = excluded.model,"
    " finish_reason = excluded.finish_reason, prompt_tokens = excluded.prompt_tokens,"
    " completion_tokens = excluded.completion_tokens, reasoning_tokens = excluded.reasoning_tokens,"
    " generation_ms = excluded.generation_ms, answered_at = excluded.answered_at,"
    " feedback = excluded.feedback, judged_at = excluded.judged_at,"
    " verdict = excluded.verdict, candidate_sha256 = excluded.candidate_sha256,"
    " protocol = excluded.protocol, counting = excluded.counting, speedup = excluded.speedup,"
    " infrastructure = excluded.infrastructure, work = excluded.work";

// Its parameters have the numbers of insert_turn's.
constexpr const char* update_judgement =
    "UPDATE turns SET feedback = ?14,"
    // A verdict that is saved again with the feedback keeps its original time.
    " judged_at = CASE WHEN verdict = ?15 THEN judged_at ELSE ?16 END, verdict = ?15,"
    " candidate_sha256 = ?17, protocol = ?18, counting = ?19, speedup = ?20, infrastructure = ?21, work = ?22"
    " WHERE trace = ?1 AND round = ?2 AND turn = ?3";

}  // namespace

struct Records::Statements {
  explicit Statements(SQLite::Database& database)
      : rows(database),
        trace(database, "SELECT id FROM traces WHERE task_id = ? AND sample_number = ?"),
        add_trace(database,
                  "INSERT INTO traces (task_id, sample_number, source, level, problem_id, sample_key, name,"
                  " reference_code, entry_point, input_shapes, licence, repo, prompt, sampling, begun_at)"
                  " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"),
        open_round(database,
                   "INSERT INTO rounds (trace, round) VALUES (?, ?)"
                   " ON CONFLICT (trace, round) DO UPDATE SET stop_reason = NULL, error = ''"
                   " WHERE stop_reason IS NOT NULL OR error != ''"),
        reopen(database, "UPDATE traces SET ended_at = NULL WHERE id = ? AND ended_at IS NOT NULL"),
        add_turn(database, insert_turn),
        judge_turn(database, update_judgement),
        end_round(database,
                  "INSERT INTO rounds (trace, round, stop_reason, error) VALUES (?, ?, ?, ?)"
                  " ON CONFLICT (trace, round) DO UPDATE SET stop_reason = excluded.stop_reason,"
                  " error = excluded.error"),
        end_trace(database, "UPDATE traces SET ended_at = ? WHERE id = ?"),
        known(database,
              "SELECT verdict FROM turns WHERE work = ? AND infrastructure = 0 ORDER BY id LIMIT 1") {}

  std::int64_t id_of(const TraceKey& key) {
    sqlite::StatementUse use(trace);
    trace.bind(1, key.task_id);
    trace.bind(2, signed_count(key.sample_number));
    if (!trace.executeStep())
      throw std::runtime_error(fmt::format("trace {} ~{} was not begun", key.task_id, key.sample_number));
    return trace.getColumn(0).getInt64();
  }

  void open(std::int64_t id, std::size_t round) {
    sqlite::StatementUse use(open_round);
    open_round.bind(1, id);
    open_round.bind(2, signed_count(round));
    open_round.exec();
    sqlite::StatementUse again(reopen);
    reopen.bind(1, id);
    reopen.exec();
  }

  TraceRows rows;
  SQLite::Statement trace;
  SQLite::Statement add_trace;
  SQLite::Statement open_round;
  SQLite::Statement reopen;
  SQLite::Statement add_turn;
  SQLite::Statement judge_turn;
  SQLite::Statement end_round;
  SQLite::Statement end_trace;
  SQLite::Statement known;
};

Records::Records(SQLite::Database& database) : statements_(std::make_unique<Statements>(database)) {}
Records::~Records() = default;

std::optional<Trace> Records::find(const TraceKey& key) {
  return statements_->rows.find(key);
}

void Records::begin(const TraceKey& key, const Trace& trace) {
  const Task& task = trace.task;
  SQLite::Statement& add = statements_->add_trace;
  sqlite::StatementUse use(add);
  add.bind(1, key.task_id);
  add.bind(2, signed_count(key.sample_number));
  int place = 2;
  for (const std::string* text :
       {&task.source, &task.level, &task.problem_id, &task.sample_key, &task.name, &task.reference_code,
        &task.entry_point, &task.input_shapes, &task.licence, &task.repo})
    add.bind(++place, *text);
  add.bind(13, prompt_json(trace.prompt));
  add.bind(14, json::serialize(trace.sampling));
  add.bind(15, utc_now());
  add.exec();
}

void Records::save(const TraceKey& key, std::size_t round, const Turn& turn) {
  std::int64_t id = statements_->id_of(key);
  statements_->open(id, round);
  SQLite::Statement& turns = statements_->add_turn;
  sqlite::StatementUse use(turns);
  turns.bind(1, id);
  turns.bind(2, signed_count(round));
  turns.bind(3, signed_count(turn.turn));
  int place = 3;
  for (const std::string* text :
       {&turn.completion, &turn.reasoning, &turn.code, &turn.model, &turn.finish_reason})
    turns.bind(++place, *text);
  bind(turns, 9, turn.usage.prompt_tokens);
  bind(turns, 10, turn.usage.completion_tokens);
  bind(turns, 11, turn.usage.reasoning_tokens);
  turns.bind(12, turn.generation_ms);
  turns.bind(13, turn.answered_at);
  bind_unless_empty(turns, 14, turn.feedback);
  bind_verdict(turns, turn);
  turns.exec();
}

void Records::save_judgement(const TraceKey& key, std::size_t round, const Turn& turn) {
  std::int64_t id = statements_->id_of(key);
  statements_->open(id, round);
  SQLite::Statement& turns = statements_->judge_turn;
  sqlite::StatementUse use(turns);
  turns.bind(1, id);
  turns.bind(2, signed_count(round));
  turns.bind(3, signed_count(turn.turn));
  bind_unless_empty(turns, 14, turn.feedback);
  bind_verdict(turns, turn);
  if (turns.exec() == 0)
    throw std::runtime_error(
        fmt::format("turn {} of trace {} ~{} was not saved", turn.turn, key.task_id, key.sample_number));
}

void Records::end(const TraceKey& key, std::size_t round, const Conversation& conversation, bool last) {
  std::int64_t id = statements_->id_of(key);
  SQLite::Statement& rounds = statements_->end_round;
  sqlite::StatementUse use(rounds);
  rounds.bind(1, id);
  rounds.bind(2, signed_count(round));
  bind_unless_empty(
      rounds, 3,
      std::string(conversation.stop_reason ? to_string(*conversation.stop_reason) : std::string_view()));
  rounds.bind(4, conversation.error);
  rounds.exec();
  if (!last) return;
  SQLite::Statement& traces = statements_->end_trace;
  sqlite::StatementUse trace_use(traces);
  traces.bind(1, utc_now());
  traces.bind(2, id);
  traces.exec();
}

std::optional<Verdict> Records::known_verdict(const std::string& work) {
  SQLite::Statement& known = statements_->known;
  sqlite::StatementUse use(known);
  known.bind(1, work);
  if (!known.executeStep()) return {};
  auto value = parse_json(known.getColumn(0).getString());
  if (!value || !value->is_object()) return {};
  auto verdict = verdict_from_json(value->get_object());
  return verdict ? std::optional(std::move(*verdict)) : std::nullopt;
}

}  // namespace kw::store
