// Rows of a training set, their keys, and the JSON of rows and units. JSON objects have all keys; a value
// that does not apply is null.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "dataset/units/unit.h"

namespace kw::corpus {

// A row of a training set, and what is known about it (formats: the dataset row).
BOOST_DEFINE_ENUM_CLASS(RowKind, fim, cu2triton, torch2triton, trace)

// A row that resembles another text more than a training set should.
struct Leak {
  std::string relation;     // "prompt_completion", "rows", "split", "benchmark"
  std::string against;      // "KernelBench", a file's name, "train"
  std::string row;          // of it: "level1/19_ReLU.py", a row's id
  double jaccard = 0;       // of the sets of words
  double containment = 0;   // share of the other text's windows that occur here
  bool renamed = false;     // found only after identifiers were renamed
  std::string field;        // "prompt", "completion": the text of `spans`
  std::vector<Span> spans;  // matching bytes of this field
};

BOOST_DEFINE_ENUM_CLASS(CompileLabel, not_tried, compilable, fails, signature_unknown)

struct Labels {
  CompileLabel compile = CompileLabel::not_tried;
  std::string compile_reason;             // empty: none
  std::vector<std::string> compiled_for;  // "sm_80", "sm_86", "sm_90"
  bool masked_loads = false;
  bool boundary_check = false;
  bool shared_memory = false;
  bool atomics = false;
  bool autotune = false;
  bool self_contained = false;
  bool clear_argument_shapes = false;
};

// The hardware that code is written for. Neutral: nothing in it says.
BOOST_DEFINE_ENUM_CLASS(Target, neutral, nvidia, amd, intel, ascend, kunlunxin, cambricon, mthreads, iluvatar,
                        metax, hygon, enflame, tsingmicro, sunrise, aipu, arm)

// How a hole was cut. Spans count the file's bytes; a kernel that is indented there has no indentation in the
// row.
struct Hole {
  std::string node;       // "body", "block", "expression", "call"
  std::string rendering;  // "plain", "psm", "spm", "instruction"
  Span region;            // of the kernel
  Span middle;            // of the completion
};

// Measures of what a completion asks for.
struct Difficulty {
  std::uint64_t operations = 0;   // kinds of operations in it: exp, sum, atomics, matrix product, ...
  std::uint64_t lines = 0;        // with code
  std::uint64_t tokens = 0;       // estimated
  std::uint64_t occurrences = 0;  // of an equal hole in the kernels of the build; 0: not counted
  bool autotune = false;          // the kernel is autotuned
};

// The evidence that two pieces implement one function in two languages.
struct PairEvidence {
  double confidence = 0;             // 0 to 1
  std::vector<std::string> reasons;  // "name: rms_norm", "parameters: 4 of 5"
  Place other;                       // of the completion
  Licence other_licence;
};

struct Row {
  std::string id;  // SHA-1 of normalised prompt|||normalised completion
  RowKind kind = RowKind::fim;
  std::string prompt;
  std::string completion;
  std::string unit;  // of which it was made
  Place source;
  Licence licence;
  std::string renamed_sha1;  // of the tokens with identifiers renamed in order
  std::string duplicate_of;  // id of the row that is kept in its place; empty: kept
  std::string cluster;       // id of the cluster's kept row; empty: in none
  std::vector<Leak> leakage;
  Labels labels;
  Target target = Target::neutral;
  std::string generator;                // as of the unit
  std::vector<std::string> provenance;  // as of the unit
  Difficulty difficulty;
  std::optional<std::int64_t> tokens;
  std::string split = "train";  // or "validation"
  std::optional<Hole> hole;
  std::optional<PairEvidence> pair;
  boost::json::object verdict;  // of a trace: the turn's verdict; empty: none
};

// CRLF becomes LF, then the text is stripped, runs of spaces and tabs become one space, three and more
// newlines become two: `re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", text.replace("\r\n",
// "\n").strip()))`.
std::string normalise(std::string_view text);

// SHA-1 in hex of "normalised prompt|||normalised completion", without spaces around the bars.
std::string row_key(std::string_view prompt, std::string_view completion);

// Values of the corpus as JSON and back. Objects have all keys; a value that does not apply is null.
boost::json::object to_json(const Place& place);
boost::json::object to_json(const Licence& licence);
boost::json::object to_json(const Leak& leak);
boost::json::object to_json(const Labels& labels);
boost::json::object to_json(const Unit& unit);

// The metadata of a row: all but prompt and completion.
boost::json::object metadata(const Row& row);
// prompt, completion and the metadata.
boost::json::object to_json(const Row& row);

// Missing members keep their defaults.
Place place_from_json(const boost::json::object& object);
Result<Unit> unit_from_json(const boost::json::object& object);
Result<Row> row_from_json(const boost::json::object& object);

}  // namespace kw::corpus
