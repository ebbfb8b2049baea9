// Record: what a result says of one answer. Every figure is computed from records, so that those of an
// earlier result can be compared with.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "score/outcomes.h"

namespace kw::scoring {

// Whose verdict it is: of nobody (the answer has no PyTorch reference), of this program just now, or what
// stood in the input.
enum class JudgedBy { nobody, here, recorded };

struct VerdictFacts {
  JudgedBy by = JudgedBy::nobody;
  score::Standing standing = score::Standing::unknown;
  std::string status;  // of the verdict; "no_answer" where the model gave none
  std::string stage;
  std::string error_class;
  std::string counts_reason;    // why a right answer proves nothing
  bool counts_unknown = false;  // right by another evaluator's word, which does not say whether it counts
  std::string fault;
  std::string why;                // the first line of its error
  std::optional<double> speedup;  // of a right one, by an instrument that is trusted enough
  std::string why_no_speed;
  std::string trust;
  std::string shapes;  // "given", "reduced"
  std::string protocol;
};

// What the syntax tree says: score/idioms.h.
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
  std::size_t torch_work = 0;  // operations of PyTorch on the way from the entry
  std::string disguise;
  std::string why_disguised;
  bool is_good = false;
};

struct OverlapFacts {
  bool exact = false;
  bool exact_tokens = false;
  bool exact_renamed = false;
  std::optional<double> bleu;
};

struct Record {
  std::string target;   // unique within a result
  std::string item;     // the task's id, else the row's: what is paired, and what samples belong to
  std::string task_id;  // empty: a row without one
  std::string row_id;   // empty: none was given
  std::string source;
  std::string kind;  // of a dataset row; else empty
  std::string model;
  std::size_t sample_number = 0;
  std::size_t turn = 0;       // of a conversation, from 1; 0: a single answer
  bool is_scored = true;      // false: another turn of this conversation stands for it
  std::string answer_sha256;  // of the code that was judged
  std::size_t answer_bytes = 0;
  bool was_trained_on = false;  // stands in the training manifest
  VerdictFacts verdict;
  std::optional<StaticFacts> idioms;
  std::optional<OverlapFacts> overlap;
  std::string compile;  // "compilable", "fails", "signature_unknown", "no_kernel"; empty: not tried
  std::string compile_reason;
};

boost::json::object to_json(const Record& record);
Result<Record> record_from_json(const boost::json::object& object);

// Of the records that are scored and have a verdict.
std::vector<score::Outcome> outcomes_of(const std::vector<Record>& records);

std::string_view to_string(JudgedBy by);
std::string_view to_string(score::Standing standing);

}  // namespace kw::scoring
