// From files and run folders to the answers that are to be scored.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/trace.h"
#include "scoring/output.h"
#include "table/row_reader.h"
#include "tasks/job_source.h"
#include "tasks/recognise.h"

namespace kw::scoring {

// Which turn of a conversation stands for it. `best` is what a loop that stops at the first success reaches,
// not what one answer reaches; `first` is that.
enum class Turns { best, first, last };

struct ColumnNames {
  std::string prompt = "prompt";
  std::string
      output;  // empty: the first of output, answer, response, full_completion, kernel_code, completion
  std::string reference;  // empty: reference_completion, else completion where that is not the output
};

struct ReadOptions {
  ParquetHelper parquet;
  std::string kernelbench;  // tasks of a KernelBench run folder
  Turns turns = Turns::best;
  bool recorded = false;  // take the verdicts that stand in the input
  Trust least = Trust::in_process;
  ColumnNames columns;
  std::map<std::string, Task> tasks;  // for rows that only name theirs, by task_id
};

// Recorded or exported traces, run folders, batches, KernelBook rows, KernelBench run folders, folders of
// pairs, and rows of prompt and output (CSV, JSON lines or list, Parquet), all recognised. A bad row is kept
// as one; an Error is a source that cannot be read at all.
Result<OutputSet> read_outputs(const std::vector<std::string>& sources, const ReadOptions& options);

// Gathers outputs, each with a target of its own and numbered within its task.
class Collector {
 public:
  explicit Collector(const ReadOptions& options) : options_(options) {}

  // `target` gets ~2, ~3 where it is taken already.
  void add(Output output);
  void saw(const Verdict& verdict) { set_.environment = verdict.environment; }
  void bad(RowError error) { set_.bad_rows.push_back(std::move(error)); }
  const ReadOptions& options() const { return options_; }
  // How often this name was asked for before.
  std::size_t occurrence(const std::string& name) { return names_.next(name); }
  OutputSet take() { return std::move(set_); }

 private:
  const ReadOptions& options_;
  OutputSet set_;
  Occurrences names_;
  Occurrences targets_;
  Occurrences samples_;
};

// The parts of read_outputs, one a form.
Result<> collect_traces(const std::string& path, Collector& to);
Result<> collect_rows(const std::string& path, Collector& to);
Result<> collect_jobs(const std::string& path, Collector& to);

// A row of prompt and output as an output; `number` from 1.
Result<Output> row_output(const boost::json::object& row, std::size_t number,
                          const std::filesystem::path& folder, const ReadOptions& options);

// The turns of one trace that are to be scored, or the fact that there is none.
void add_trace(const Trace& trace, JudgedBy by, Collector& to);

// Whether a file is one of rows that are read here, by its first row: with an output; with a prompt to be
// asked.
Result<bool> holds_rows(const std::string& path, const ReadOptions& options);
Result<bool> holds_prompts(const std::string& path, const ReadOptions& options);

// The rows of such a file as they stand there.
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
