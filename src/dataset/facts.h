// What a build saw and made: everything that ANALYSIS.json, ANALYSIS.md, PROVENANCE.md, the card and the
// figures say.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "collect/collect.h"
#include "corpus/row.h"

namespace kw::dataset {

// Counts in buckets of powers of two: bucket n holds values in [2^n, 2^(n+1)), bucket 0 also 0.
struct Histogram {
  std::vector<std::uint64_t> buckets;
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  void add(std::uint64_t value);
  // The bucket's lower end below which that share of the values lies.
  std::uint64_t quantile(double share) const;
};

using Counts = std::map<std::string, std::uint64_t>;

struct SourceFacts {
  corpus::Origin origin;
  collect::Tally tally;
  std::uint64_t files_with_errors = 0;             // parsed, with parts that are no valid code
  Counts units;                                    // by kind
  Counts licences;                                 // of files with units
  std::map<std::string, Counts> licence_evidence;  // licence → what says so → files with units
  Counts licence_refused;                          // units left out, by licence; "unknown" among them
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

// Of the rows that are written.
struct RowFacts {
  std::uint64_t rows = 0;
  Counts kinds;
  Counts nodes;       // holes: body, block, expression, call
  Counts renderings;  // plain, psm, spm
  Counts sources;     // by origin
  Counts licences;
  Counts splits;
  Counts compile;  // of kernels with rows: compilable, fails, signature_unknown, not_tried
  Counts labels;   // how many rows have each
  Counts leaks;    // flagged rows by relation and against: "benchmark KernelBench"
  Counts review;   // decisions honoured: keep, drop
  Histogram prompt_characters;
  Histogram completion_characters;
  Histogram tokens;
  std::unordered_set<std::uint64_t> kernels;  // counted in `compile` already
};

struct Facts {
  std::string program;    // version
  std::string made_by;    // the command's settings, as a line
  std::string tokenizer;  // what counted the tokens; empty: not counted, see tokens_why_null
  std::string tokens_why_null;
  std::vector<SourceFacts> sources;
  std::vector<Stage> stages;
  DuplicateFacts duplicates;
  RowFacts rows;
  Counts units;                       // all that were found, by kind
  Counts units_compile;               // of kept kernels, by label
  Counts compile_reasons;             // of those without "compilable"
  std::uint64_t cuda_pairs = 0;       // real ones, written
  std::uint64_t cuda_pairs_weak = 0;  // seen, under the confidence asked for
  std::uint64_t torch_pairs = 0;
  boost::json::object parameters;  // of dedup, leakage, FIM, labels
  std::vector<std::string> warnings;
};

// "flag_gems 4.2.0", "KernelBench at 0123456789ab", "notes": what a source is called in counts and tables.
std::string source_name(const corpus::Origin& origin);

// A file with units, and the licence it is under.
void add(SourceFacts& facts, const corpus::Licence& licence);

// The row goes into the counts.
void add(RowFacts& facts, const corpus::Row& row);

// The facts as ANALYSIS.json has them: the same for the same input.
boost::json::object to_json(const Facts& facts);
// The same as text to read: indented, keys sorted.
std::string analysis_json(const Facts& facts);

// How this build went, which is no part of the set: times and rates by stage, and the sources that were taken
// from an earlier build.
std::string times_json(const Facts& facts);

std::string analysis_markdown(const Facts& facts);
std::string provenance_markdown(const Facts& facts);

// The card of a dataset folder with these data files: config → files, by split.
struct CardConfig {
  std::string name;                          // "fim"
  std::map<std::string, std::string> files;  // split → path in the folder
};
std::string card(const Facts& facts, const std::vector<CardConfig>& configs);

}  // namespace kw::dataset
