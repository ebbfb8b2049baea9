// What `score` is put together from.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "score.h"
#include "score/held_out.h"
#include "scoring/ask_rows.h"
#include "scoring/output.h"
#include "scoring/read_outputs.h"
#include "scoring/result.h"
#include "tasks/task_source.h"

namespace kw::app {

// Training manifests, and what of the evaluation stands in them.
class TrainingGate {
 public:
  static Result<TrainingGate> open(const ScoreFlags& flags);

  struct Item {
    std::string name;
    score::EvaluatedItem what;
  };
  // What was trained on, of all manifests.
  std::vector<scoring::TrainingCheck::Seen> seen(const std::vector<Item>& items) const;
  // Marks the outputs that belong to such a task or row.
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

// What is to be asked: tasks, or rows of prompt and completion.
struct Questions {
  std::vector<TaskItem> tasks;
  std::vector<scoring::PromptRow> rows;
  std::vector<RowError> bad_rows;
  std::vector<TrainingGate::Item> items;
};

scoring::ReadOptions read_options(const ScoreOptions& options);
Result<Questions> read_questions(const ScoreOptions& options);

struct Answers {
  int status = 0;  // other than 0: what the program ends with; it has complained already
  scoring::OutputSet set;
  std::string model;
};

// Asks a model, by the name given or the only one, in a run that the same command goes on with: `ending` is
// that of its folder beside the result.
Answers ask_model(const ScoreOptions& options, const CLI::App& verb, const Questions& questions,
                  const std::string& model, const std::string& ending);

// Verdicts for the outputs that can have one and have none yet, of several sets under one verifier. Those of
// an earlier call are taken from `file`. The status as in Answers.
int judge(const ScoreOptions& options, std::span<scoring::OutputSet* const> sets);

boost::json::object machine_facts();
boost::json::object protocol_facts(const ScoreOptions& options, const scoring::OutputSet& set);
boost::json::object made_facts();

}  // namespace kw::app
