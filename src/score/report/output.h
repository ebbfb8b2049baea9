// Output: an answer to be scored, with its metadata. ScoredAnswer: its entry in a result. Every metric is
// computed from these records, so that the records of an earlier result can be compared.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "base/rows/row_reader.h"
#include "score/checks/idioms.h"
#include "score/checks/overlap.h"
#include "score/metrics/measures.h"
#include "types/job.h"

namespace kw::scoring {

// The origin of the verdict: none (the answer has no PyTorch reference), this program, or the input.
BOOST_DEFINE_ENUM_CLASS(JudgedBy, nobody, here, recorded)

struct VerdictFacts {
  JudgedBy by = JudgedBy::nobody;
  score::Standing standing = score::Standing::unknown;
  std::string status;  // of the verdict; "no_answer" where the model gave none
  std::string stage;
  std::string error_class;
  std::string counts_reason;    // why a right answer does not count
  bool counts_unknown = false;  // another evaluator's verdict, which does not state whether it counts
  std::string fault;
  std::string why;                // the first line of its error
  std::optional<double> speedup;  // of a right one, by a sufficiently trusted instrument
  std::string why_no_speed;
  std::string trust;
  std::string shapes;  // "given", "reduced"
  std::string protocol;
};

struct StaticReason {
  score::Check check = score::Check::parses;
  std::string what;
  std::size_t line =
      0;  // of the answer, from 1; of a filled hole, of the whole source; 0: nowhere in particular
};

// The static checks: score/checks/idioms.h.
struct StaticFacts {
  bool parses = false;
  bool has_jit = false;
  bool is_launched = false;
  bool loads = false;
  bool masked_loads = false;
  bool stores = false;
  bool masked_stores = false;
  bool boundary_checks = false;
  bool constexpr_blocks = false;
  bool native_code = false;
  std::size_t forbidden = 0;
  std::size_t torch_work = 0;       // operations of PyTorch on the way from the entry
  std::size_t undefined_names = 0;  // of a filled hole: names that only the answer needs and nothing defines
  std::string disguise;
  std::string why_disguised;
  bool is_good = false;
  std::optional<score::CheckState> state;  // empty: the result is of a version without states
  std::map<score::Check, score::CheckState> checks;
  std::vector<StaticReason> reasons;  // why checks are not pass
};

struct OverlapFacts {
  bool exact = false;
  bool exact_tokens = false;
  bool exact_renamed = false;
  std::optional<double> bleu;
};

struct ScoredAnswer {
  std::string target;   // unique within a result
  std::string item;     // the task's id, else the row's: the key of pairs and of samples
  std::string task_id;  // empty: a row without one
  std::string row_id;   // empty: none was given
  std::string source;
  std::string kind;  // of a dataset row; else empty
  std::string model;
  std::size_t sample_number = 0;
  std::size_t turn = 0;       // of a conversation, from 1; 0: a single answer
  bool is_scored = true;      // false: another turn represents its conversation
  std::string answer_sha256;  // of the code that was judged
  std::size_t answer_bytes = 0;
  bool was_trained_on = false;  // occurs in the training manifest
  VerdictFacts verdict;
  std::optional<StaticFacts> idioms;
  std::optional<OverlapFacts> overlap;
  std::string compile;  // "compilable", "fails", "signature_unknown", "no_kernel"; empty: not tried
  std::string compile_reason;
};

boost::json::object to_json(const ScoredAnswer& record);
Result<ScoredAnswer> record_from_json(const boost::json::object& object);

// The records that are scored and have a verdict.
std::vector<score::Outcome> outcomes_of(const std::vector<ScoredAnswer>& records);

// The place of a fill-in row that its answer fills.
struct Hole {
  std::string prefix;
  std::string suffix;
  bool is_plain = false;  // the prompt is the prefix, without special tokens
  bool is_cuda = false;
};

// Output: an answer to be scored, with its metadata.
struct Output {
  ScoredAnswer record;
  std::string conversation;  // equal for turns of one conversation; empty: a single answer
  std::string prompt;        // empty for a conversation or if there is none
  std::string code;          // the code to judge and check
  std::string reference;     // the expected completion; valid if has_reference
  bool has_reference = false;
  std::optional<Hole> hole;             // of a fill-in row: the code fills it
  std::set<std::string> trained_forms;  // possible hashes of the row in a training manifest: row_forms()
  std::optional<Job> job;               // with a PyTorch reference: can be judged
  std::optional<score::Overlap> overlap;
};

struct OutputSet {
  std::vector<Output> outputs;
  std::vector<RowError> bad_rows;          // unreadable, or without an answer; excluded from all metrics
  std::optional<Environment> environment;  // of one of this program's verdicts among them
};

// The outcome of a verdict. From a recorded verdict of another evaluator, only right, wrong and speed are
// used.
VerdictFacts facts_of(const Verdict& verdict, JudgedBy by, Trust least);

}  // namespace kw::scoring
