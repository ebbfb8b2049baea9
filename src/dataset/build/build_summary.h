// The summary of a build, the source of ANALYSIS.json, ANALYSIS.md, PROVENANCE.md, the card and the figures.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "dataset/collect/collect.h"
#include "dataset/leakage/leak.h"
#include "dataset/units/row.h"

namespace kw::dataset {

// Counts in buckets of powers of two: bucket n holds values in [2^n, 2^(n+1)), bucket 0 also 0.
struct Histogram {
  std::vector<std::uint64_t> buckets;
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  void add(std::uint64_t value);
  // The lower end of the bucket at that quantile of the values.
  std::uint64_t quantile(double share) const;
};

using Counts = std::map<std::string, std::uint64_t>;

struct SourceFacts {
  corpus::Origin origin;
  collect::Tally tally;
  std::uint64_t files_with_errors = 0;             // parsed, with parts that are no valid code
  Counts units;                                    // by kind
  Counts licences;                                 // of files with units
  std::map<std::string, Counts> licence_evidence;  // licence → evidence → files with units
  Counts licence_refused;                          // units left out, by licence; "unknown" among them
  Counts hardware_refused;                         // units left out, by the hardware that they are for
  bool from_state = false;                         // unchanged since the last build, not read again
};

struct Stage {
  std::string name;  // "collect", "parse", "sketch", ...
  double seconds = 0;
  std::uint64_t bytes = 0;  // that went in
  std::uint64_t items = 0;
};

struct DuplicateFacts {
  std::uint64_t exact_units = 0;
  std::uint64_t renamed_units = 0;  // equal but for names
  std::uint64_t near_units = 0;
  std::uint64_t clusters = 0;
  std::uint64_t largest_cluster = 0;
  std::uint64_t candidates = 0;
  std::uint64_t verified = 0;
  std::uint64_t over = 0;
  std::uint64_t exact_rows = 0;
};

// The split of kernels with rows, and the search for validation code in the training rows.
struct SplitFacts {
  std::uint64_t train_families = 0;  // of kernels that must be in one split
  std::uint64_t validation_families = 0;
  std::uint64_t train_kernels = 0;
  std::uint64_t validation_kernels = 0;
  std::uint64_t largest_family = 0;    // kernels
  std::uint64_t functions = 0;         // of validation families, that were searched for
  std::uint64_t answers = 0;           // of validation rows, that were searched for
  std::uint64_t train_left_out = 0;    // rows with a function of a validation family
  std::uint64_t answers_left_out = 0;  // validation rows whose answer is in a training row
  std::uint64_t functions_leaked = 0;  // in the rows that were written
  std::uint64_t answers_leaked = 0;
};

// A benchmark with which every row was compared.
struct BenchmarkFacts {
  leak::Benchmark benchmark;
  std::uint64_t found = 0;    // rows that resemble it, also those held back for a decision
  std::uint64_t written = 0;  // of these
};

// Counts of the written rows.
struct RowFacts {
  std::uint64_t rows = 0;
  Counts kinds;
  Counts nodes;       // holes: body, block, expression, call
  Counts renderings;  // plain, psm, spm
  Counts sources;     // by origin
  Counts licences;
  Counts splits;
  Counts targets;                  // by hardware
  Counts generators;               // of machine-made code, by the program that made it
  Counts provenance;               // by statement: "Adapted from https://..."
  Counts compile;                  // of kernels with rows: compilable, fails, signature_unknown, not_tried
  Counts labels;                   // how many rows have each
  Counts leaks;                    // flagged rows by relation and against: "benchmark KernelBench"
  Counts review;                   // decisions honoured: keep, drop
  Counts verdicts;                 // of rows with a verdict, by its trust; "unknown" where it states none
  std::uint64_t judged_pairs = 0;  // of the pairs: those whose sides the verifier ran both
  std::uint64_t half_judged_pairs = 0;  // those of which it ran the Triton side only
  Histogram prompt_characters;
  Histogram completion_characters;
  Histogram tokens;
  Histogram completion_tokens;  // estimated
  // Rows whose tokens do not fit: by the limit, and within it those whose prompt alone fills it.
  struct Limit {
    std::uint64_t longer = 0;
    std::uint64_t dropped = 0;
  };
  std::map<std::uint64_t, Limit> limits{{1'024, {}}, {4'096, {}}};
  std::unordered_set<std::uint64_t> kernels;  // counted in `compile` already
};

struct BuildSummary {
  std::string program;    // version
  std::string made_by;    // the command's settings, as a line
  std::string tokenizer;  // that counted the tokens; empty: not counted, see tokens_why_null
  std::string tokens_why_null;
  std::vector<SourceFacts> sources;
  std::vector<Stage> stages;
  DuplicateFacts duplicates;
  SplitFacts split;
  std::vector<BenchmarkFacts> benchmarks;  // by name; empty: not checked
  RowFacts rows;
  Counts units;                       // all that were found, by kind
  Counts units_compile;               // of kept kernels, by label
  Counts compile_reasons;             // of those without "compilable"
  std::uint64_t cuda_pairs = 0;       // real ones, written
  std::uint64_t cuda_pairs_weak = 0;  // seen, under the confidence asked for
  std::uint64_t torch_pairs = 0;
  Counts targets;                  // kernels and device functions found, by hardware
  Counts rows_left_out;            // rows that were not made, by reason
  Counts kernels_without_rows;     // as skipped.jsonl lists them, by reason
  bool has_figures = false;        // drawn in figs/
  boost::json::object parameters;  // of dedup, leakage, FIM, labels
  std::vector<std::string> warnings;
  std::vector<std::string> pinned;  // URL@COMMIT of repositories that were named without a commit
  std::vector<std::string> alarms;  // faults of the set: printed in red
};

// The name of a source in counts and tables: "flag_gems 4.2.0", "KernelBench at 0123456789ab", "notes".
std::string source_name(const corpus::Origin& origin);
// Whether the two are the same source in the same state.
bool is_same(const corpus::Origin& a, const corpus::Origin& b);

// A file with units, and its licence.
void add(SourceFacts& facts, const corpus::Licence& licence);

// Counts the files of unknown licence under the stated one; an empty one changes nothing.
void state_licence(SourceFacts& facts, const corpus::Licence& stated);

// The benchmarks that a search compared with.
std::vector<BenchmarkFacts> compared(const std::vector<leak::Reference>& references);

// Counts the rows that each benchmark flags.
void add_found(std::vector<BenchmarkFacts>& benchmarks, const std::vector<corpus::Leak>& leaks);

// "KernelBench (270 texts, SHA-256 0123456789ab): 3 rows resemble it", or "not checked".
std::string benchmarks_in_words(const std::vector<BenchmarkFacts>& benchmarks);

// Adds the row to the counts. `prompt_tokens` are those of row.tokens that the prompt has.
void add(RowFacts& facts, const corpus::Row& row, std::optional<std::int64_t> prompt_tokens = {});

// The facts as in ANALYSIS.json: equal for equal input.
boost::json::object to_json(const BuildSummary& facts);
// The same as indented text with sorted keys.
std::string analysis_json(const BuildSummary& facts);

// Figures of this build that are not part of the dataset: times and rates by stage, and sources reused from
// an earlier build.
std::string times_json(const BuildSummary& facts);

std::string analysis_markdown(const BuildSummary& facts);
inline constexpr std::string_view provenance_heading =
    "# Where this data set comes from\n";  // its first line
std::string provenance_markdown(const BuildSummary& facts);

// The card of a dataset folder with these data files: config → files, by split.
struct CardConfig {
  std::string name;                          // "fim"
  std::map<std::string, std::string> files;  // split → path in the folder
};
std::string card(const BuildSummary& facts, const std::vector<CardConfig>& configs);

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Records the duration of a stage in its destructor.
class StageClock {
 public:
  StageClock(std::vector<Stage>& stages, std::string name)
      : stages_(stages), stage_{std::move(name), 0, 0, 0}, begin_(Clock::now()) {}
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;
  ~StageClock() {
    stage_.seconds = seconds_since(begin_);
    stages_.push_back(stage_);
  }

  std::uint64_t& bytes() { return stage_.bytes; }
  std::uint64_t& items() { return stage_.items; }

 private:
  std::vector<Stage>& stages_;
  Stage stage_;
  Clock::time_point begin_;
};

}  // namespace kw::dataset
