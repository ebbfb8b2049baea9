// Selects turns for training and converts traces to training rows.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/words.h"
#include "loop/run_store/trace_files.h"
#include "types/review.h"
#include "types/trace.h"

namespace kw::store {

// messages: {"messages": [...]}. prompt_completion: {"prompt": [...], "completion": [...]}. preference:
// {"prompt": [...], "chosen": [...], "rejected": [...]}. traces: the recorded form.
BOOST_DEFINE_ENUM_CLASS(Format, messages, prompt_completion, preference, traces)

// A row per turn with the conversation before it, or a row per conversation.
BOOST_DEFINE_ENUM_CLASS(Unit, turn, conversation)

// The place of an answer's reasoning: a key beside "content", <think> tags before it, or none.
BOOST_DEFINE_ENUM_CLASS(ReasoningKey, reasoning_content, thinking, inline_, none)

// All values except `none` require correct and counting.
BOOST_DEFINE_ENUM_CLASS(Filter, correct, fast_1, fast_2, none)

struct TrainingOptions {
  Format format = Format::messages;
  Unit unit = Unit::turn;
  ReasoningKey reasoning = ReasoningKey::reasoning_content;
  Filter filter = Filter::correct;
  std::optional<Trust> min_trust = {};          // of the verdict; none: any
  bool best_only = false;                       // of each trace, its best turn
  bool include_benchmarks = false;              // tasks of KernelBench
  std::optional<std::uint64_t> max_bytes = {};  // of a row's JSON
  Form form = Form::multi;                      // of `traces`
  bool unmeasured_is_zero = false;              // write speeds that were not measured as 0.0, not as null
  ReviewLabels reviews = {};                    // of people; unless empty, rows have the column "review"
  std::vector<ReviewLabel> leave_out = {};      // answers with one of these labels
};

// Counts of included and omitted turns.
struct Tally {
  std::size_t traces = 0;
  std::size_t rows = 0;
  std::size_t benchmarks = 0;                   // traces left out as tasks of a benchmark
  std::map<std::string, std::size_t> left_out;  // why → how many
  std::map<std::string, std::size_t> sources;   // of the rows
  std::map<std::string, std::size_t> licences;  // "unknown" where the task has none
  std::map<std::string, std::size_t> models;
};

// A reason in Tally::left_out: another evaluator judged the turn.
inline constexpr const char* not_known_to_count = "right but not known to count";

struct TrainingRow {
  std::string text;                 // one JSON object
  std::vector<std::string> filled;  // the columns that have a value here; of lists of messages: a reasoning
};

// The rows of one trace, all with the same columns; counts omitted turns by reason.
std::vector<TrainingRow> training_rows(const Trace& trace, const TrainingOptions& options, Tally& tally);

}  // namespace kw::store

template <>
inline constexpr auto kw::other_words<kw::store::Format> =
    std::array{kw::EnumWord{kw::store::Format::prompt_completion, "prompt-completion"}};

namespace kw::store {

// The reason to omit the turn; empty if it is included.
std::string why_left_out(const Turn& turn, const TrainingOptions& options);

// Whether `one` is preferred to `other`: correct and counting over wrong, or at least a tenth faster if both
// are correct and count.
bool is_better(const Turn& one, const Turn& other);

bool is_benchmark(const Task& task);

}  // namespace kw::store
