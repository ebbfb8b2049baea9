// Traces → rows to train on.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schema/trace.h"
#include "store/trace_files.h"

namespace kw::store {

enum class Format {
  messages,           // {"messages": [...]}
  prompt_completion,  // {"prompt": [...], "completion": [...]}
  preference,         // {"prompt": [...], "chosen": [...], "rejected": [...]}
  traces              // the recorded form
};

// A row for every turn, with what the model saw before it, or one for a conversation.
enum class Unit { turn, conversation };

// Where an answer's reasoning goes: a key beside "content", <think> tags before it, or nowhere.
enum class ReasoningKey { reasoning_content, thinking, inline_, none };

// All but `none` ask for correct and counting.
enum class Filter { none, correct, fast_1, fast_2 };

struct TrainingOptions {
  Format format = Format::messages;
  Unit unit = Unit::turn;
  ReasoningKey reasoning = ReasoningKey::reasoning_content;
  Filter filter = Filter::correct;
  std::optional<Trust> min_trust = {};          // of the verdict; none: any
  bool best_only = false;                       // of each trace, its best turn
  bool include_benchmarks = false;              // tasks of KernelBench
  std::optional<std::uint64_t> max_bytes = {};  // of a row's JSON
  Form form = Form::multi_turn;                 // of `traces`
};

std::string_view to_string(Format value);
std::string_view to_string(Unit value);
std::string_view to_string(ReasoningKey value);
std::string_view to_string(Filter value);

// What went in and what did not.
struct Tally {
  std::size_t traces = 0;
  std::size_t rows = 0;
  std::size_t benchmarks = 0;                   // traces left out as tasks of a benchmark
  std::map<std::string, std::size_t> left_out;  // why → how many
  std::map<std::string, std::size_t> sources;   // of the rows
  std::map<std::string, std::size_t> licences;  // "unknown" where the task has none
  std::map<std::string, std::size_t> models;
};

// A reason of Tally::left_out: another evaluator judged it.
inline constexpr const char* not_known_to_count = "right but not known to count";

struct TrainingRow {
  std::string text;                 // one JSON object
  std::vector<std::string> filled;  // the columns that have a value here; of lists of messages: a reasoning
};

// The rows of one trace, all with the same columns; what becomes none is counted with its reason.
std::vector<TrainingRow> training_rows(const Trace& trace, const TrainingOptions& options, Tally& tally);

}  // namespace kw::store
