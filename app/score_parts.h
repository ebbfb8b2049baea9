// The parts of `score`: the questions, the training gate, the facts of a result, and the protection of
// existing files.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loop/tasks/source.h"
#include "options/score_flags.h"
#include "score.h"
#include "score/checks/held_out.h"
#include "score/report/ask_rows.h"
#include "score/report/output.h"
#include "score/report/read_outputs.h"
#include "score/report/result.h"

namespace kw::app {

// Training manifests, and the tasks and rows of the evaluation that they list.
class TrainingGate {
 public:
  static Result<TrainingGate> open(const ScoreFlags& flags);

  struct Item {
    std::string name;
    score::EvaluatedItem what;
  };
  // Training data of all manifests.
  std::vector<scoring::TrainingCheck::Seen> seen(const std::vector<Item>& items) const;
  // Marks the outputs of such tasks and rows.
  void mark(scoring::OutputSet& set) const;
  scoring::TrainingCheck check(const std::vector<Item>& items, bool is_allowed) const;

 private:
  struct Loaded {
    std::string path;
    score::TrainingManifest manifest;
  };
  std::vector<Loaded> loaded_;
};

std::vector<TrainingGate::Item> items_of(const scoring::OutputSet& set);

// The questions to a model: tasks, or rows of prompt and completion.
struct Questions {
  std::vector<Job> tasks;  // without candidates
  std::vector<scoring::PromptRow> rows;
  std::vector<RowError> bad_rows;
  std::vector<TrainingGate::Item> items;
};

scoring::ReadOptions read_options(const ScoreOptions& options);
Result<Questions> read_questions(const ScoreOptions& options);

struct Answers {
  int status = 0;  // other than 0: the exit status; the error is already printed
  scoring::OutputSet set;
  std::string model;
};

// Requests answers from the given model, or from the server's only one, in a resumable run. `ending` is the
// suffix of the run's folder next to the result.
Answers ask_model(const ScoreOptions& options, const CLI::App& verb, const Questions& questions,
                  const std::string& model, const std::string& ending);

// Adds missing verdicts to the outputs of several sets with one verifier. Reuses verdicts of an earlier call
// from `file`. Status as in Answers.
int judge(const ScoreOptions& options, std::span<scoring::OutputSet* const> sets);

boost::json::object machine_facts();
boost::json::object protocol_facts(const ScoreOptions& options, const scoring::OutputSet& set);
boost::json::object made_facts();

// Checks all output files before the work starts: none is an input under any name, none is a file of another
// program, and each folder is writable. The error names the file.
Result<> check_written(const ScoreFlags& flags);

// Whether a report may be written to this path: it is free, or has an earlier report.
Result<> check_report(const std::filesystem::path& path);

// Renames sheets and results with human labels (score.review.1.csv) and prints a note.
Result<> keep_labels(const ScoreFlags& flags);

}  // namespace kw::app
