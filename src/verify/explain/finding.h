// Finding: a verdict that is not right or does not count, as linters report it: a rule, a severity, a message
// and a place in a file of the working directory. sarif.h and github.h render findings.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "types/job.h"
#include "types/verdict.h"
#include "verify/explain/explanation.h"

namespace kw::explain {

// Lines and columns count from 1, columns in characters, `end_column` excluded; 0: unknown.
struct Place {
  std::string path;       // relative to the working directory, or absolute outside of it; raw bytes
  bool is_inside = true;  // below the working directory
  std::size_t line = 0;
  std::size_t column = 0;
  std::size_t end_column = 0;
};

struct Finding {
  Level level = Level::error;
  std::string rule;          // of all_rules()
  std::size_t position = 0;  // in the input
  std::string id;            // of the verdict
  std::string task_id;
  std::string in_short;        // "failed (out_of_bounds)"
  std::string sentence;        // the event
  std::string details;         // the error, the numbers and the notes, one a line; escaped and cut, or empty
  std::string advice;          // or empty
  std::optional<Place> place;  // empty: no file contains the source
  std::string fingerprint;     // stays equal when lines move; equal findings have equal ones
  Status status = Status::error;
  std::optional<bool> counts;
  std::optional<double> speedup;
  std::optional<Trust> trust;
  std::string candidate_sha256;
};

// The files of a verdict's sources.
struct Origins {
  Origin candidate;
  Origin reference;
};

// Of a verdict that is not right or does not count. `speedup` is the one that is trusted.
Finding finding_of(const Verdict& verdict, const Sources& sources, const Origins& origins,
                   std::optional<double> speedup, const std::filesystem::path& working_directory);

// The file at this path, without a line.
Place place_of(const std::string& path, const std::filesystem::path& working_directory);

// "compile_error", "does_not_count/decoy", "skipped": the rules of all findings. An error class is its own
// rule; the status is the rule of a verdict without one.
struct Rule {
  std::string id;
  std::string what;
  std::string advice;  // or empty
  Level level = Level::error;
};
const std::vector<Rule>& all_rules();

// The findings of a run by level, errors first, in the order of the input within a level. Of each level it
// keeps the first `most`.
class Findings {
 public:
  explicit Findings(std::size_t most) : most_(most) {}
  void add(Finding finding);
  // A row that could not be judged: "tasks.jsonl, row 3: not JSON".
  void add_bad_row(std::string_view words, std::optional<Place> place);
  void add_right() { ++right_; }

  const std::map<Level, std::vector<Finding>, std::greater<>>& by_level() const { return by_level_; }
  std::size_t count(Level level) const;
  std::size_t right() const { return right_; }
  std::size_t total() const;  // of verdicts
  struct BadRow {
    std::string words;
    std::optional<Place> place;
  };
  const std::vector<BadRow>& bad_rows() const { return bad_rows_; }
  std::size_t bad_row_count() const { return bad_row_count_; }

 private:
  std::size_t most_;
  std::map<Level, std::vector<Finding>, std::greater<>> by_level_;
  std::map<Level, std::size_t> counts_;
  std::vector<BadRow> bad_rows_;
  std::size_t bad_row_count_ = 0;
  std::size_t right_ = 0;
};

}  // namespace kw::explain
