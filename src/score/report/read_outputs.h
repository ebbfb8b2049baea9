// Reads the answers to be scored from files and run folders, and the hashes that a training manifest may have
// of a row.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "base/rows/row_reader.h"
#include "loop/tasks/source.h"
#include "score/report/output.h"
#include "types/trace.h"

namespace kw::scoring {

// Hashes of each prompt with each completion, as two texts, as messages, and as one text; and of the row's
// own messages and texts. Each unchanged, with CRLF as LF, and without white space at its ends: a manifest
// has one hash per row, of the form that was trained on. Omits missing and empty values.
std::set<std::string> row_forms(const boost::json::object& row, const std::vector<std::string>& prompts,
                                const std::vector<std::string>& completions);

// The turn that represents a conversation. `best` is the result of a loop that stops at the first success,
// not of one answer; `first` is the result of one answer.
BOOST_DEFINE_ENUM_CLASS(Turns, best, first, last)

struct ColumnNames {
  std::string prompt = "prompt";
  std::string
      output;  // empty: the first of output, answer, response, full_completion, kernel_code, completion
  std::string reference;  // empty: reference_completion, else completion unless that is the output
};

struct ReadOptions {
  ParquetHelper parquet;
  std::string kernelbench;  // tasks of a KernelBench run folder
  Turns turns = Turns::best;
  bool recorded = false;  // use the verdicts in the input
  Trust least = Trust::in_process;
  ColumnNames columns;
  std::map<std::string, Task> tasks;  // for rows that only name theirs, by task_id
};

// Recorded or exported traces, run folders, batches, KernelBook rows, KernelBench run folders, folders of
// pairs, and rows of prompt and output (CSV, JSON lines or list, Parquet), all recognised by content. Bad
// rows are kept as such; an Error means an unreadable source.
Result<OutputSet> read_outputs(const std::vector<std::string>& sources, const ReadOptions& options);

// Collects outputs. Gives each a unique target and a number within its task.
class Collector {
 public:
  explicit Collector(const ReadOptions& options) : options_(options) {}

  // `target` gets ~2, ~3 if it exists.
  void add(Output output);
  void saw(const Verdict& verdict) { set_.environment = verdict.environment; }
  void bad(RowError error) { set_.bad_rows.push_back(std::move(error)); }
  const ReadOptions& options() const { return options_; }
  // The number of earlier uses of this name.
  std::size_t occurrence(const std::string& name) { return names_.next(name); }
  OutputSet take() { return std::move(set_); }

 private:
  const ReadOptions& options_;
  OutputSet set_;
  Occurrences names_;
  Occurrences targets_;
  Occurrences samples_;
};

// The parts of read_outputs, one per format.
Result<> collect_traces(const std::string& path, Collector& to);
Result<> collect_rows(const std::string& path, Collector& to);
Result<> collect_jobs(const std::string& path, Collector& to);

// A row of prompt and output as an output; `number` from 1.
Result<Output> row_output(const boost::json::object& row, std::size_t number,
                          const std::filesystem::path& folder, const ReadOptions& options);

// The turns of one trace to be scored, or the fact that there is none.
void add_trace(const Trace& trace, JudgedBy by, Collector& to);

// Whether a file has rows for `score`, by its first row: rows with an output, or rows with a prompt to ask.
Result<bool> holds_rows(const std::string& path, const ReadOptions& options);
Result<bool> holds_prompts(const std::string& path, const ReadOptions& options);

// The unchanged rows of such a file.
struct PromptRow {
  std::size_t number = 0;  // from 1
  boost::json::object fields;
};
struct PromptRows {
  std::vector<PromptRow> rows;
  std::vector<RowError> bad_rows;
};
Result<PromptRows> read_prompts(const std::string& path, const ReadOptions& options);

}  // namespace kw::scoring
