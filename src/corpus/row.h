// A row of a training set, and what is known about it (formats: the dataset row).
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corpus/place.h"

namespace kw::corpus {

enum class RowKind { fim, cu2triton, torch2triton, trace };

// A row that resembles another text more than a training set should.
struct Leak {
  std::string relation;     // "prompt_completion", "rows", "split", "benchmark"
  std::string against;      // "KernelBench", a file's name, "train"
  std::string row;          // of it: "level1/19_ReLU.py", a row's id
  double jaccard = 0;       // of the sets of words
  double containment = 0;   // share of the other text's windows that occur here too
  bool renamed = false;     // seen only after identifiers were renamed alike
  std::string field;        // "prompt", "completion": what `spans` count
  std::vector<Span> spans;  // bytes that match, here
};

enum class CompileLabel { not_tried, compilable, fails, signature_unknown };

struct Labels {
  CompileLabel compile = CompileLabel::not_tried;
  std::string compile_reason;             // empty where there is nothing to say
  std::vector<std::string> compiled_for;  // "sm_80", "sm_90"
  bool masked_loads = false;
  bool boundary_check = false;
  bool shared_memory = false;
  bool atomics = false;
  bool autotune = false;
  bool self_contained = false;
  bool clear_argument_shapes = false;
};

// How a hole was cut: prefix + middle + suffix are the bytes [region.begin, region.end) of the file.
struct Hole {
  std::string node;       // "body", "block", "expression", "call"
  std::string rendering;  // "plain", "psm", "spm"
  Span region;
  Span middle;
};

// Why two pieces are held to be one function in two languages.
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
  std::optional<std::int64_t> tokens;
  std::string split = "train";  // or "validation"
  std::optional<Hole> hole;
  std::optional<PairEvidence> pair;
  boost::json::object verdict;  // of a trace: the turn's verdict; empty: none
};

}  // namespace kw::corpus
