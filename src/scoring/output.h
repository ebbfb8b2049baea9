// Output: an answer that is to be scored, with what is needed for it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schema/job.h"
#include "score/overlap.h"
#include "scoring/record.h"
#include "table/row_error.h"

namespace kw::scoring {

struct Output {
  Record record;
  std::string conversation;  // turns of one have it in common; empty: a single answer
  std::string prompt;        // empty where there is none, or where it is a conversation
  std::string code;          // what is judged and looked at
  std::string reference;     // the completion that it should have been; meaningful where has_reference
  bool has_reference = false;
  std::set<std::string> trained_forms;  // hashes that a training manifest may have of the row: row_forms.h
  std::optional<Job> job;               // with a PyTorch reference: can be judged
  std::optional<score::Overlap> overlap;
};

struct OutputSet {
  std::vector<Output> outputs;
  std::vector<RowError> bad_rows;          // could not be read, or got no answer; they are in no figure
  std::optional<Environment> environment;  // of one of this program's verdicts among them
};

// What a verdict comes to here. Of another evaluator's word (recorded) only right and wrong are taken, and
// speed as it stands there.
VerdictFacts facts_of(const Verdict& verdict, JudgedBy by, Trust least);

}  // namespace kw::scoring
