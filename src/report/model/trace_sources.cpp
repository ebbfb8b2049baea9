#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "base/database/database.h"
#include "loop/run_store/database.h"
#include "loop/run_store/run_reader.h"
#include "report/model/fill.h"
#include "report/model/object_file.h"
#include "report/model/source.h"
#include "report/model/words.h"
#include "types/trace.h"

namespace kw::report {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

json::value explained_turn(const Turn& turn, const Task& task) {
  if (!turn.verdict) return nullptr;
  return explained(*turn.verdict, {.candidate = turn.code, .reference = task.reference_code});
}

void leave_feedback_out(json::value& turns) {
  if (!turns.is_array()) return;
  for (json::value& turn : turns.get_array())
    if (turn.is_object()) turn.get_object()["feedback_given"] = nullptr;
}

// The verdict of the trace's best turn.
json::object best_verdict(const Trace& trace) {
  const Conversation* round = best_round(trace);
  const Turn* best = round ? best_turn(*round) : nullptr;
  return best && best->verdict ? to_json(*best->verdict) : json::object();
}

}  // namespace

RowCounts counts_of(const Trace& trace) {
  RowCounts counts;
  counts.prompts = trace.prompt.empty() ? 0 : 1;
  counts.references = trace.task.reference_code.empty() ? 0 : 1;
  for (const Conversation& round : trace.rounds)
    for (const Turn& turn : round.turns) {
      counts.completions += turn.completion.empty() ? 0 : 1;
      counts.reasoning += turn.reasoning.empty() ? 0 : 1;
      counts.kernels += turn.code.empty() ? 0 : 1;
      counts.verdicts += turn.verdict ? 1 : 0;
    }
  return counts;
}

json::object trace_detail(const Trace& trace, std::string_view key, bool redact) {
  json::object row = multi_turn_json(trace);
  // Their parts are in the prompt and in the turns.
  for (const char* repeated : {"full_messages", "final_triton_code", "final_result"}) row.erase(repeated);
  json::array prompt;
  if (!redact)
    for (const Message& message : trace.prompt)
      prompt.push_back(json::object{{"role", message.role}, {"content", message.content}});
  row["prompt"] = std::move(prompt);
  json::array explanations;
  const Conversation* shown = best_round(trace);
  if (shown)
    for (const Turn& turn : shown->turns) explanations.push_back(explained_turn(turn, trace.task));
  json::array& others = row["other_rounds"].get_array();
  std::size_t other = 0;
  for (const Conversation& round : trace.rounds) {
    if (&round == shown || other == others.size()) continue;
    json::array& turns = others[other++].get_object()["turns"].get_array();
    for (std::size_t i = 0; i < turns.size(); ++i)
      turns[i].get_object()["explained"] = explained_turn(round.turns[i], trace.task);
  }
  if (redact) {
    leave_feedback_out(row["turns"]);
    for (json::value& round : others) leave_feedback_out(round.get_object()["turns"]);
  }
  return {{"kind", "trace"}, {"key", key}, {"trace", std::move(row)}, {"explained", std::move(explanations)}};
}

namespace {

// What runs and trace files have in common.
class TraceSource : public Source {
 public:
  using Source::Source;

 protected:
  // The row of the trace; empty if it is left out. `states_its_end`: a trace without a stop reason has not
  // ended. Traces of other programs may lack it.
  Result<std::optional<std::size_t>> add(const Trace& trace, bool states_its_end, const Sink& sink) {
    if (leave_out(trace.task.licence)) return std::nullopt;
    std::size_t row = add_row(unique_key(key_name(trace.task.task_id, trace.sample_number)));
    fill_trace(trace, options().least, table_.rows, table_.turns);
    if (states_its_end && table_.rows.stop_reason.is_null(row)) mark_unfinished(table_.rows);
    fill_evidence(best_verdict(trace), table_.rows);
    table_.counts[row] = counts_of(trace);
    trace_facts(trace);
    if (!sink) return row;
    auto given = sink(row, cleaned_detail(trace, table_.rows.key[row]));
    if (!given) return std::unexpected(given.error());
    return row;
  }

  static std::string key_name(std::string_view task_id, std::size_t sample_number) {
    return fmt::format("{}~{}", task_id, sample_number);
  }

  json::object cleaned_detail(const Trace& trace, std::string_view key) {
    json::object detail = trace_detail(trace, key, options().redact);
    if (json::value& sampling = detail["trace"].get_object()["sampling"]; sampling.is_object())
      clean_settings(sampling.get_object());
    clean(detail);
    return detail;
  }

 private:
  void trace_facts(const Trace& trace) {
    for (const Conversation& round : trace.rounds)
      for (const Turn& turn : round.turns) {
        if (!turn.model.empty()) fact("model", json::value(turn.model));
        if (turn.verdict && !turn.verdict->environment.protocol.empty()) environment_facts(*turn.verdict);
      }
    flat_facts("sampling", trace.sampling);
  }
};

class RunSource : public TraceSource {
 public:
  using TraceSource::TraceSource;

  Result<json::object> detail(std::size_t row) override {
    auto reader = store::RunReader::open(path());
    if (!reader) return std::unexpected(reader.error());
    auto trace = (*reader)->at(ids_[row]);
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return fail("the run has no such trace any more");
    return cleaned_detail(**trace, table_.rows.key[row]);
  }

 protected:
  Result<> read_all(const Sink& sink) override {
    seen_.clear();
    return read_from({}, sink);
  }

  void read_changes() override {
    Table earlier = std::move(table_);
    clear();
    if (auto read = read_from(earlier, {}); !read) damaged(read.error().what);
  }

  std::string stamp() const override {
    std::string log = database().string() + "-wal";
    return fmt::format("{}{}{}", file_stamp(database()), file_stamp(log),
                       sqlite::is_in_use(database()) ? "in use" : "");
  }

 private:
  // A trace as it was read.
  struct Seen {
    std::string ended_at;
    std::string name;  // of its key
    std::size_t row = 0;
    std::size_t first_turn = 0;
    std::size_t turns = 0;
  };

  fs::path database() const {
    return fs::is_directory(path()) ? fs::path(path()) / "run.db" : fs::path(path());
  }

  // Takes traces that had ended from the earlier table, and reads the others.
  Result<> read_from(const Table& earlier, const Sink& sink) {
    ids_.clear();
    bool in_use = sqlite::is_in_use(database());
    auto reader = store::RunReader::open(path());
    if (!reader) return lost(reader.error());
    auto places = (*reader)->places();
    if (!places) return lost(places.error());
    if (auto info = (*reader)->info()) run_facts(*info);
    std::size_t ended = 0;
    for (const store::TracePlace& place : *places) {
      ended += place.ended_at.empty() ? 0 : 1;
      auto seen = seen_.find(place.id);
      bool is_known =
          seen != seen_.end() && !place.ended_at.empty() && seen->second.ended_at == place.ended_at;
      if (is_known)
        copy(earlier, place.id);
      else if (auto read = read_one(**reader, place, sink); !read)
        return read;
    }
    set_state(in_use, ended, places->size());
    return {};
  }

  Result<> lost(const Error& error) {
    damaged(error.what);
    return {};
  }

  Result<> read_one(store::RunReader& reader, const store::TracePlace& place, const Sink& sink) {
    seen_.erase(place.id);
    auto trace = reader.at(place.id);
    if (!trace) return lost(trace.error());
    if (!*trace) return {};
    Seen seen{.ended_at = place.ended_at,
              .name = key_name((*trace)->task.task_id, (*trace)->sample_number),
              .row = table_.rows.count,
              .first_turn = table_.turns.count};
    auto row = add(**trace, true, sink);
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    seen.turns = table_.turns.count - seen.first_turn;
    seen_[place.id] = std::move(seen);
    ids_.push_back(place.id);
    return {};
  }

  void copy(const Table& earlier, std::int64_t id) {
    Seen& seen = seen_[id];
    unique_key(seen.name);
    std::size_t row = table_.rows.count;
    table_.rows.add_from(earlier.rows, seen.row);
    table_.counts.push_back(earlier.counts[seen.row]);
    std::size_t first_turn = table_.turns.count;
    for (std::size_t i = 0; i < seen.turns; ++i) {
      table_.turns.add_from(earlier.turns, seen.first_turn + i);
      table_.turns.row.set(table_.turns.count - 1, static_cast<std::int64_t>(row));
    }
    seen.row = row;
    seen.first_turn = first_turn;
    ids_.push_back(id);
  }

  void run_facts(const store::RunInfo& info) {
    flat_facts("", info.settings);
    fact("program_version", json::value(info.program_version));
    fact("git_revision", json::value(info.git_revision));
    fact("created_at", json::value(info.created_at));
  }

  void set_state(bool in_use, std::size_t ended, std::size_t traces) {
    if (facts_.state == SourceState::damaged) return;
    if (in_use)
      facts_.state = SourceState::unfinished;
    else if (ended < traces || traces == 0)
      facts_.state = SourceState::interrupted;
  }

  std::vector<std::int64_t> ids_;  // by row
  std::map<std::int64_t, Seen> seen_;
};

class TraceFileSource : public TraceSource {
 public:
  using TraceSource::TraceSource;

  Result<json::object> detail(std::size_t row) override {
    auto fields = read_object(path(), places_[row]);
    if (!fields) return std::unexpected(fields.error());
    auto trace = trace_of(*fields);
    if (!trace) return std::unexpected(trace.error());
    return cleaned_detail(*trace, table_.rows.key[row]);
  }

 protected:
  Result<> read_all(const Sink& sink) override {
    places_.clear();
    return each_object(
        path(), [&](const PlacedObject& object) { return add_object(object, sink); },
        [&](const Error& error) { damaged(error.what); });
  }

 private:
  // Other programs' traces name the licence in their own way.
  static Result<Trace> trace_of(const json::object& fields) {
    auto trace = trace_from_json(fields);
    if (trace && trace->task.licence.empty()) trace->task.licence = licence_of(fields);
    return trace;
  }

  Result<> add_object(const PlacedObject& object, const Sink& sink) {
    auto bad = [&](const Error& error) {
      damaged(fmt::format("trace {}: {}", object.number, error.what));
      return Result<>();
    };
    if (!object.fields) return bad(object.fields.error());
    auto trace = trace_of(*object.fields);
    if (!trace) return bad(trace.error());
    const json::value* stop_reason = object.fields->if_contains("stop_reason");
    auto row = add(*trace, stop_reason && stop_reason->is_null(), sink);
    if (!row) return std::unexpected(row.error());
    if (*row) places_.push_back(object.place);
    return {};
  }

  std::vector<ObjectPlace> places_;  // by row
};

}  // namespace

std::unique_ptr<Source> run_source(SourceParts parts) {
  return std::make_unique<RunSource>(std::move(parts));
}

std::unique_ptr<Source> trace_file_source(SourceParts parts) {
  return std::make_unique<TraceFileSource>(std::move(parts));
}

}  // namespace kw::report
