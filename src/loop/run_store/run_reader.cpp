#include "loop/run_store/run_reader.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "loop/run_store/database.h"
#include "loop/run_store/records.h"

namespace kw::store {

namespace {

boost::json::value share_of(const Summary& s, std::uint64_t count) {
  return s.measured == 0 && s.correct > 0 ? boost::json::value(nullptr) : boost::json::value(count);
}

std::string in_words(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

}  // namespace

boost::json::object to_json(const Summary& s) {
  boost::json::object stop_reasons;
  for (const auto& [name, count] : s.stop_reasons) stop_reasons[name] = count;
  return {{"total", s.traces},
          {"ended", s.ended},
          {"correct", s.correct},
          {"measured", s.measured},
          {"fast_1", share_of(s, s.fast_1)},
          {"fast_2", share_of(s, s.fast_2)},
          {"stop_reasons", std::move(stop_reasons)},
          {"turns", s.turns},
          {"prompt_tokens", s.prompt_tokens},
          {"completion_tokens", s.completion_tokens},
          {"generation_s", s.generation_s},
          {"elapsed_s", s.elapsed_s}};
}

std::string in_words(const Summary& s) {
  auto share = [&](std::uint64_t count) {
    return s.ended == 0 ? fmt::format("{}", count)
                        : fmt::format("{} ({:.1f}%)", count,
                                      100.0 * static_cast<double>(count) / static_cast<double>(s.ended));
  };
  auto fast = [&](std::uint64_t count) {
    return s.measured == 0 && s.correct > 0 ? std::string("not measured") : share(count);
  };
  const std::pair<std::string_view, std::string> lines[] = {
      {"total", s.ended == s.traces ? fmt::format("{}", s.traces)
                                    : fmt::format("{}, of which {} have ended", s.traces, s.ended)},
      {"correct", share(s.correct)},
      {"fast_1", fast(s.fast_1)},
      {"fast_2", fast(s.fast_2)},
      {"ended", in_words(s.stop_reasons)},
      {"turns", fmt::format("{}", s.turns)},
      {"tokens", fmt::format("{} in, {} out", s.prompt_tokens, s.completion_tokens)},
      {"seconds", fmt::format("{:.1f}, answers {:.1f}", s.elapsed_s, s.generation_s)}};
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<9}{}\n", name, value);
  return text;
}

namespace {

namespace fs = std::filesystem;

constexpr const char* counts =
    "SELECT (SELECT count(*) FROM traces), (SELECT count(*) FROM traces WHERE ended_at IS NOT NULL),"
    " count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),"
    " coalesce(sum(generation_ms), 0) / 1000.0,"
    " (SELECT coalesce((julianday(max(ended_at)) - julianday(min(begun_at))) * 86400.0, 0) FROM traces)"
    " FROM turns";

// The fastest turn of each trace that is correct and counts.
constexpr const char* successes =
    "SELECT count(*), coalesce(sum(fastest > 1.0), 0), coalesce(sum(fastest >= 2.0), 0), count(fastest)"
    " FROM (SELECT max(speedup) AS fastest FROM turns WHERE counting = 1 GROUP BY trace)";

// The last round of each trace.
constexpr const char* endings =
    "SELECT stop_reason, count(*) FROM rounds WHERE stop_reason IS NOT NULL AND round ="
    " (SELECT max(round) FROM rounds AS other WHERE other.trace = rounds.trace)"
    " GROUP BY stop_reason ORDER BY count(*) DESC, stop_reason";

std::uint64_t count(SQLite::Statement& row, int column) {
  return static_cast<std::uint64_t>(row.getColumn(column).getInt64());
}

Summary read_summary(SQLite::Database& database) {
  Summary summary;
  SQLite::Statement all(database, counts);
  all.executeStep();
  summary.traces = count(all, 0);
  summary.ended = count(all, 1);
  summary.turns = count(all, 2);
  summary.prompt_tokens = count(all, 3);
  summary.completion_tokens = count(all, 4);
  summary.generation_s = all.getColumn(5).getDouble();
  summary.elapsed_s = all.getColumn(6).getDouble();
  SQLite::Statement good(database, successes);
  good.executeStep();
  summary.correct = count(good, 0);
  summary.fast_1 = count(good, 1);
  summary.fast_2 = count(good, 2);
  summary.measured = count(good, 3);
  SQLite::Statement ended(database, endings);
  while (ended.executeStep())
    summary.stop_reasons.emplace_back(ended.getColumn(0).getString(), count(ended, 1));
  return summary;
}

}  // namespace

struct RunReader::State {
  State(fs::path file, std::unique_ptr<SQLite::Database> connection, Which wanted)
      : path(std::move(file)), database(std::move(connection)), rows(*database), which(wanted) {
    // All reads see one snapshot.
    database->exec("BEGIN");
  }

  template <typename T, typename Read>
  Result<T> guarded(Read read) {
    try {
      return read();
    } catch (const std::exception& error) {
      return std::unexpected(database_error(path, "read", error));
    }
  }

  std::optional<Trace> next() {
    auto trace = rows.after(at);
    while (trace && which == Which::ended && trace->ended_at.empty()) trace = rows.after(at);
    return trace;
  }

  fs::path path;
  std::unique_ptr<SQLite::Database> database;
  TraceRows rows;
  Which which;
  std::int64_t at = 0;
};

RunReader::RunReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunReader::~RunReader() = default;

Result<std::unique_ptr<RunReader>> RunReader::open(const fs::path& path, Which which) {
  fs::path file = fs::is_directory(path) ? path / "run.db" : path;
  auto database = open_database_to_read(file);
  if (!database) return std::unexpected(database.error());
  try {
    return std::unique_ptr<RunReader>(
        new RunReader(std::make_unique<State>(file, std::move(*database), which)));
  } catch (const std::exception& error) {
    return std::unexpected(database_error(file, "read", error));
  }
}

Result<std::optional<Trace>> RunReader::next() {
  return state_->guarded<std::optional<Trace>>([&] { return state_->next(); });
}

Result<std::vector<TracePlace>> RunReader::places() {
  return state_->guarded<std::vector<TracePlace>>([&] {
    std::vector<TracePlace> places;
    SQLite::Statement row(*state_->database, "SELECT id, ended_at FROM traces ORDER BY id");
    while (row.executeStep()) places.emplace_back(row.getColumn(0).getInt64(), row.getColumn(1).getString());
    return places;
  });
}

Result<std::optional<Trace>> RunReader::at(std::int64_t id) {
  return state_->guarded<std::optional<Trace>>([&] {
    std::int64_t found = id - 1;
    auto trace = state_->rows.after(found);
    return found == id ? std::move(trace) : std::nullopt;
  });
}

Result<std::optional<RunFacts>> RunReader::facts() {
  auto about = info();
  if (!about) return std::unexpected(about.error());
  auto counted = summary();
  if (!counted) return std::unexpected(counted.error());
  return RunFacts{std::move(*about), std::move(*counted)};
}

Result<RunInfo> RunReader::info() {
  return state_->guarded<RunInfo>([&] { return read_info(*state_->database); });
}

Result<Summary> RunReader::summary() {
  return state_->guarded<Summary>([&] { return read_summary(*state_->database); });
}

}  // namespace kw::store
