// Index: the columns of all rows of a report, with its sources and contents. docs/report_format.md describes
// its JSON.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "report/model/columns.h"

namespace kw::report {

inline constexpr const char* report_schema = "kernelwright.report/1";

BOOST_DEFINE_ENUM_CLASS(SourceKind, run, traces, verdicts, score, dataset)

// unfinished: a program works on it, or its traces have not all ended. interrupted: no program works on it,
// and not all of its traces have ended. damaged: a part could not be read.
BOOST_DEFINE_ENUM_CLASS(SourceState, finished, unfinished, interrupted, damaged)

BOOST_DEFINE_ENUM_CLASS(RowKind, trace, verdict, dataset)

// "s2/" of the second input: it precedes the keys of its rows in a report of several. Empty of the first.
std::string key_prefix(std::size_t source);

// An input of the report.
struct SourceFacts {
  std::string name;
  SourceKind kind = SourceKind::traces;
  SourceState state = SourceState::finished;
  boost::json::object facts;          // settings and versions: flat names to scalars
  std::vector<std::string> messages;  // what could not be read
};

// Whether more traces may end: a program works on it, or one was interrupted.
bool is_unfinished(const SourceFacts& source);

// The conditions under which a verdict was made.
struct ConditionColumns {
  WordColumn instrument;
  NumberColumn clock_sm_mhz;
  WordColumn throttle;
  NumberColumn roofline_share;
  WordColumn shapes, tolerance;
  WordColumn dtype;  // of the inputs in the evidence record, joined by ", "
  WordColumn torch, triton, program_version;
};

// A row: a trace (a sample of a task), a verdict of `verify`, or a row of a data set. A trace's row has the
// facts of its best turn.
struct Rows : ConditionColumns {
  std::size_t count = 0;

  WholeColumn source;  // index in Index::sources
  WordColumn kind;     // RowKind
  TextColumn key;      // unique
  WordColumn task_id, name, task_source, level, model;
  WholeColumn sample_number;
  WordColumn licence;
  WordColumn status, standing;  // Standing: right, wrong, unknown
  FlagColumn counts;
  WordColumn counts_reason, error_class, fault, stage, trust, gpu, protocol;
  NumberColumn speedup, speedup_low, speedup_high, compile_speedup, call_speedup;
  NumberColumn forward_speedup, backward_speedup;  // of the passes, where gradients were judged
  WordColumn sanitized;                            // the outcome of each check: "bounds clean"
  WordColumn other_shapes;                         // ShapeGenerality
  NumberColumn reference_time_ms, kernel_time_ms, judge_ms, generation_ms;
  WholeColumn turns, prompt_tokens, completion_tokens, reasoning_tokens;
  WordColumn stop_reason;
  FlagColumn unfinished;  // true of a trace that has not ended: its standing is unknown
  WordColumn label;
  WholeColumn reviewers;
  FlagColumn evidence;
  WordColumn dataset_kind, split;
  WholeColumn tokens;
  WordColumn duplicate_of;
  WholeColumn leakage;
  WordColumn compile;
  WholeColumn chunk, offset, bytes;  // the place of the detail in a file; null in `view`

  // Appends a row of nulls and returns its number.
  std::size_t add();
  // Appends a copy of a row of the other table.
  void add_from(const Rows& other, std::size_t row);
  // Changes the words of all columns of words.
  void change_words(const std::function<std::string(std::string_view)>& changed);
};

// A turn of a trace, of all its rounds.
struct Turns {
  std::size_t count = 0;

  WholeColumn row;  // number in Rows
  WholeColumn round, turn;
  WordColumn status, standing, counts_reason, error_class, fault;
  FlagColumn evidence;  // whether the verdict has an evidence record
  NumberColumn speedup;
  WholeColumn prompt_tokens, completion_tokens, reasoning_tokens;
  NumberColumn generation_ms, judge_ms;

  std::size_t add();
  void add_from(const Turns& other, std::size_t number);
};

struct Contents {
  struct Holding {
    std::string what;
    std::uint64_t count = 0;
  };
  struct LeftOut {
    std::string what;
    std::uint64_t count = 0;
    std::string why;
  };
  bool redacted = false;
  std::vector<Holding> holds;  // counts over 0
  std::vector<LeftOut> left_out;
};

struct Index {
  std::string program_version;
  std::string made_at;  // ISO 8601, UTC
  std::string title;
  Contents contents;
  std::vector<SourceFacts> sources;
  Rows rows;
  Turns turns;
  boost::json::array scores;    // results of `score` without their outputs
  boost::json::array datasets;  // ANALYSIS.json of each data set, with its "source"
};

// The index as JSON, with `words` and without `summary` and `chunks`, which callers add.
boost::json::object to_json(const Index& index);

// {"count", "columns": {...}}
boost::json::object to_json(const Rows& rows);
boost::json::object to_json(const Turns& turns);

}  // namespace kw::report
