#include "store/trace_rows.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <stdexcept>

#include "schema/json.h"
#include "sqlite/statement_use.h"

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
  auto verdict = value.is_object() ? verdict_from_json(value.get_object()) : fail("a verdict is no object");
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
      conversation.stop_reason = stop_reason_from(text(rounds, 1));
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

}  // namespace kw::store
